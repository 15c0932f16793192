/** The commands that a sandbox moves bytes with, in place of a model's context window. */
import * as z from "zod";

const MAX_PATH_CHARACTERS = 1024;

/** Where a file is in the caller's sandbox. The service itself never sees it. */
export const sandboxPath = z.string()
  .min(1, "Must not be empty.")
  .max(MAX_PATH_CHARACTERS, `Must have at most ${MAX_PATH_CHARACTERS} characters.`)
  // sha256sum would write such a name in a form of its own.
  .refine((path) => !/[\p{Cc}\\]/u.test(path), "Must not have control characters or backslashes.");

/** PUTs a file to an upload URL. */
export function uploadCommand(path: string, uploadUrl: string): string {
  // -g: brackets and braces in the name are not a pattern of names.
  return `curl -gsS --fail-with-body -T ${quoted(unlikeOption(path))} ${quoted(uploadUrl)}`;
}

/** Downloads into a file, and fails unless it has the digest. */
export function downloadCommand(
  { url, sha256 }: { readonly url: string; readonly sha256: string },
  path: string,
): string {
  const file = unlikeOption(path);
  // Without the name, which the owner has chosen, and `-o` makes of no use. A browser that the URL
  // is given to still shows nothing: Storage answers `content-disposition: attachment`.
  const unnamed = new URL(url);
  unnamed.searchParams.set("download", "");
  return `curl -sSf -o ${quoted(file)} ${quoted(unnamed.href)} && ` +
    `echo ${quoted(`${sha256}  ${file}`)} | sha256sum -c`;
}

/** To curl, `-` is standard input or output: the bytes would end up in the conversation. */
function unlikeOption(path: string): string {
  return path.startsWith("-") ? `./${path}` : path;
}

/** One word to a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Shell commands that move bytes between a sandbox and Storage, so that they stay out of a model's
 * context window.
 */
import * as z from "zod";

const MAX_PATH_CHARACTERS = 1024;

/** Where a file is in the caller's sandbox. The service itself never sees it. */
export const sandboxPath = z.string()
  .min(1, "Must not be empty.")
  .max(MAX_PATH_CHARACTERS, `Must have at most ${MAX_PATH_CHARACTERS} characters.`)
  // sha256sum writes such a name in a special form.
  .refine((path) => !/[\p{Cc}\\]/u.test(path), "Must not have control characters or backslashes.");

/** PUTs a file to an upload URL. */
export function uploadCommand(path: string, uploadUrl: string): string {
  // -g: curl must not take brackets and braces in the name for a pattern.
  return `curl -gsS --fail-with-body -T ${quoted(unlikeOption(path))} ${quoted(uploadUrl)}`;
}

/** Downloads into a file, and fails unless it has the digest. */
export function downloadCommand(
  { url, sha256 }: { readonly url: string; readonly sha256: string },
  path: string,
): string {
  const file = unlikeOption(path);
  // Removes the file name that the owner has chosen from the URL, because `-o` does not use it. The
  // empty parameter stays: with it, Storage still answers `content-disposition: attachment`, so
  // that a browser shows nothing.
  const unnamed = new URL(url);
  unnamed.searchParams.set("download", "");
  return `curl -sSf -o ${quoted(file)} ${quoted(unnamed.href)} && ` +
    `echo ${quoted(`${sha256}  ${file}`)} | sha256sum -c`;
}

/** curl takes `-` for standard input or output, and the bytes would end up in the conversation. */
function unlikeOption(path: string): string {
  return path.startsWith("-") ? `./${path}` : path;
}

/** Quotes a text, so that it is one word to a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

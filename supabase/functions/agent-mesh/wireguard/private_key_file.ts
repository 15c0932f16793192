import { accepted, type Parsed, refused } from "../../_shared/operations/addresses/parsed.ts";

/** A path that is safe without quotes in a hook, which wg-quick runs in a root shell. */
export type PrivateKeyFile = string & { readonly brand: "PrivateKeyFile" };

/** wg-quick replaces `%i` with the name of the interface. */
const DEFAULT_PRIVATE_KEY_FILE = "/etc/wireguard/%i.key" as PrivateKeyFile;
// Exported separately: the deploy tool mistakes `export` and a literal on one line for an import.
export { DEFAULT_PRIVATE_KEY_FILE };

export function parsePrivateKeyFile(text: string): Parsed<PrivateKeyFile> {
  const isSafe = /^\/[A-Za-z0-9._/@%-]{1,200}$/.test(text) &&
    !/%(?!i)/.test(text) && !text.split("/").includes("..");
  return isSafe ? accepted(text as PrivateKeyFile) : refused(
    "Must be an absolute path of A-Z a-z 0-9 . _ / @ - and %i, without '..', of at most 201 characters.",
  );
}

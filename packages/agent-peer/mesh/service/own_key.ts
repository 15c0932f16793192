import { randomBytes } from "node:crypto";
import process from "node:process";
import { lstat, readFile, writeFile } from "node:fs/promises";
import { formatKey, parseKey } from "../../wireguard/key.ts";

/** A new private key, of the form that WireGuard uses (RFC 7748, section 5). */
export function newPrivateKey(): Uint8Array {
  const key = new Uint8Array(randomBytes(32));
  key[0]! &= 248;
  key[31] = (key[31]! & 127) | 64;
  return key;
}

/**
 * The private key in a file, as `wg genkey` writes it. If the file is missing, it is created,
 * readable only by its owner. Throws an error that names the file if others can read it, or if it
 * has no key.
 */
export async function readOrMakeKey(file: string): Promise<Uint8Array> {
  const key = newPrivateKey();
  try {
    await writeFile(file, `${formatKey(key)}\n`, { flag: "wx", mode: 0o600 });
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const { mode } = await lstat(file);
  // Windows has no such permission bits.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new Error(`Others can read the private key in ${file}: run chmod 600 ${file}.`);
  }
  const text = (await readFile(file, "utf8")).trim();
  try {
    return parseKey(text);
  } catch (cause) {
    throw new Error(`${file} has no private key of WireGuard.`, { cause });
  }
}

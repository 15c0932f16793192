import { createHash } from "node:crypto";
import { decodeKey } from "./base64.ts";
import { accepted, type Parsed, refused } from "../../operations/addresses/parsed.ts";

/** One key of PSK_ENCRYPTION_KEYS. Printing or serialising it shows only its id. */
export class EncryptionKey {
  /** The first 16 hex digits of the key's SHA-512; stored beside everything that it encrypted. */
  readonly id: string;
  readonly #secretBytes: Uint8Array;

  constructor(secretBytes: Uint8Array) {
    this.id = createHash("sha512").update(secretBytes).digest("hex").slice(0, 16);
    this.#secretBytes = secretBytes;
  }

  revealBytes(): Uint8Array {
    return this.#secretBytes;
  }
}

/** Newest first. The first one encrypts; every one decrypts what it encrypted. */
export type EncryptionKeys = readonly [EncryptionKey, ...EncryptionKey[]];

/** Reads PSK_ENCRYPTION_KEYS: the base64 of 32 bytes per key, comma-separated, newest first. */
export function parseEncryptionKeys(secretText: string): Parsed<EncryptionKeys> {
  const decoded = secretText.split(",").map((part) => decodeKey(part.trim()));
  const keys = decoded.flatMap((bytes) => bytes === null ? [] : [new EncryptionKey(bytes)]);
  const [newest, ...older] = keys;
  if (newest === undefined || keys.length !== decoded.length) {
    return refused(
      "Must be comma-separated encryption keys, newest first, each base64 of 32 bytes.",
    );
  }
  return accepted([newest, ...older]);
}

/** Secrets of 32 bytes, encrypted for one owner: PSKs, and the signing secrets of webhooks. */
import nacl from "tweetnacl";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import type { EncryptionKeys } from "./encryption_key.ts";

export class DecryptionError extends Error {
  constructor(readonly reason: "malformed" | "unknown_encryption_key" | "not_authentic") {
    super(`The encrypted secret cannot be decrypted: ${reason}.`);
    this.name = "DecryptionError";
  }
}

interface EncryptedFor {
  /** Encrypted together with the secret, so that database rows cannot be swapped. */
  readonly owner: string;
  readonly encryptionKeys: EncryptionKeys;
}

/** The id of the key that a secret was encrypted under; null when it is malformed. */
export function encryptionKeyIdOf(encrypted: string): string | null {
  return splitEncrypted(encrypted)?.keyId ?? null;
}

/**
 * Encrypts a secret with the newest encryption key, as
 * `v1.<encryption key id>.<base64 of nonce and secretbox>`. The box holds the secret and, after it,
 * the owner.
 */
export function encryptSecret(
  secretBytes: Uint8Array,
  { owner, encryptionKeys: [newest] }: EncryptedFor,
): string {
  const nonce = nacl.randomBytes(nacl.secretbox.nonceLength);
  const secretContent = joined(secretBytes, utf8.encode(owner));
  const box = nacl.secretbox(secretContent, nonce, newest.revealBytes());
  return `v1.${newest.id}.${encodeBase64(joined(nonce, box))}`;
}

/** Throws `DecryptionError` unless it was encrypted for this owner under one of these keys. */
export function decryptSecret(
  encrypted: string,
  { owner, encryptionKeys }: EncryptedFor,
): Uint8Array {
  const parts = splitEncrypted(encrypted);
  if (parts === null) throw new DecryptionError("malformed");
  const encryptionKey = encryptionKeys.find(({ id }) => id === parts.keyId);
  if (encryptionKey === undefined) throw new DecryptionError("unknown_encryption_key");
  const secretContent = nacl.secretbox.open(parts.box, parts.nonce, encryptionKey.revealBytes());
  const expected = utf8.encode(owner);
  if (
    secretContent?.length !== 32 + expected.length ||
    !expected.every((byte, index) => byte === secretContent[32 + index])
  ) {
    throw new DecryptionError("not_authentic");
  }
  return secretContent.slice(0, 32);
}

function splitEncrypted(encrypted: string) {
  const [, keyId, base64] = /^v1\.([0-9a-f]{16})\.([A-Za-z0-9+/=]+)$/.exec(encrypted) ?? [];
  const bytes = base64 === undefined ? null : decodeBase64(base64);
  const nonceLength = nacl.secretbox.nonceLength;
  if (keyId === undefined || bytes === null || bytes.length <= nonceLength) return null;
  return { keyId, nonce: bytes.subarray(0, nonceLength), box: bytes.subarray(nonceLength) };
}

const utf8 = new TextEncoder();

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}

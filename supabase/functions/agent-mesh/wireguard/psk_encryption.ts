import nacl from "tweetnacl";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { type AgentPair, PresharedKey } from "./psk.ts";
import type { EncryptionKeys } from "./encryption_key.ts";

/**
 * The pair that a PSK belongs to, and its version. Encrypted together with the PSK, so that
 * database rows cannot be swapped.
 */
export interface PskOwner extends AgentPair {
  /** The pair's psk_version when the PSK was made. */
  readonly version: number;
}

export class PskDecryptionError extends Error {
  constructor(readonly reason: "malformed" | "unknown_encryption_key" | "not_authentic") {
    super(`The encrypted PSK cannot be decrypted: ${reason}.`);
    this.name = "PskDecryptionError";
  }
}

/** The id of the key that an encrypted PSK was encrypted under; null when it is malformed. */
export function encryptionKeyIdOf(encrypted: string): string | null {
  return splitEncrypted(encrypted)?.keyId ?? null;
}

/**
 * Encrypts a PSK with the newest encryption key, as
 * `v1.<encryption key id>.<base64 of nonce and secretbox>`. The box holds the PSK and, after it,
 * the owner.
 */
export function encryptPresharedKey(
  psk: PresharedKey,
  { owner, encryptionKeys: [newest] }: { owner: PskOwner; encryptionKeys: EncryptionKeys },
): string {
  const nonce = nacl.randomBytes(nacl.secretbox.nonceLength);
  const secretContent = joined(psk.revealBytes(), ownerBytes(owner));
  const box = nacl.secretbox(secretContent, nonce, newest.revealBytes());
  return `v1.${newest.id}.${encodeBase64(joined(nonce, box))}`;
}

/** Throws `PskDecryptionError` unless it was encrypted for this owner under one of these keys. */
export function decryptPresharedKey(
  encrypted: string,
  { owner, encryptionKeys }: { owner: PskOwner; encryptionKeys: EncryptionKeys },
): PresharedKey {
  const parts = splitEncrypted(encrypted);
  if (parts === null) throw new PskDecryptionError("malformed");
  const encryptionKey = encryptionKeys.find(({ id }) => id === parts.keyId);
  if (encryptionKey === undefined) throw new PskDecryptionError("unknown_encryption_key");
  const secretContent = nacl.secretbox.open(parts.box, parts.nonce, encryptionKey.revealBytes());
  const expected = ownerBytes(owner);
  if (
    secretContent?.length !== 32 + expected.length ||
    !expected.every((byte, index) => byte === secretContent[32 + index])
  ) {
    throw new PskDecryptionError("not_authentic");
  }
  return new PresharedKey(secretContent.slice(0, 32));
}

function splitEncrypted(encrypted: string) {
  const [, keyId, base64] = /^v1\.([0-9a-f]{16})\.([A-Za-z0-9+/=]+)$/.exec(encrypted) ?? [];
  const bytes = base64 === undefined ? null : decodeBase64(base64);
  const nonceLength = nacl.secretbox.nonceLength;
  if (keyId === undefined || bytes === null || bytes.length <= nonceLength) return null;
  return { keyId, nonce: bytes.subarray(0, nonceLength), box: bytes.subarray(nonceLength) };
}

const utf8 = new TextEncoder();

/** Identifiers have no line breaks, so no two owners give the same bytes. */
function ownerBytes({ lowAgent, highAgent, version }: PskOwner): Uint8Array {
  return utf8.encode(`${version}\n${lowAgent}\n${highAgent}`);
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}

import {
  decryptSecret,
  encryptSecret,
} from "../../_shared/identity/encryption/encrypted_secret.ts";
import type { EncryptionKeys } from "../../_shared/identity/encryption/encryption_key.ts";
import { type AgentPair, PresharedKey } from "./psk.ts";

/** The pair that a PSK belongs to, and its version. */
export interface PskOwner extends AgentPair {
  /** The pair's psk_version when the PSK was made. */
  readonly version: number;
}

/** Encrypts a PSK for its owner, as `encryptSecret` says. */
export function encryptPresharedKey(
  psk: PresharedKey,
  { owner, encryptionKeys }: { owner: PskOwner; encryptionKeys: EncryptionKeys },
): string {
  return encryptSecret(psk.revealBytes(), { owner: textOf(owner), encryptionKeys });
}

/** Throws `DecryptionError` unless it was encrypted for this owner under one of these keys. */
export function decryptPresharedKey(
  encrypted: string,
  { owner, encryptionKeys }: { owner: PskOwner; encryptionKeys: EncryptionKeys },
): PresharedKey {
  return new PresharedKey(decryptSecret(encrypted, { owner: textOf(owner), encryptionKeys }));
}

/** Identifiers have no line breaks, so no two owners give the same text. */
function textOf({ lowAgent, highAgent, version }: PskOwner): string {
  return `${version}\n${lowAgent}\n${highAgent}`;
}

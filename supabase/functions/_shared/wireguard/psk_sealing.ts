import nacl from "tweetnacl";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { type AgentPair, PresharedKey } from "./psk.ts";
import type { SealingKeys } from "./sealing_key.ts";

/** Whose PSK it is and which of theirs: sealed in with it, so that rows cannot be exchanged. */
export interface SealOwner extends AgentPair {
  /** The pair's psk_version. */
  readonly version: number;
}

export class PskOpeningError extends Error {
  constructor(readonly reason: "malformed" | "unknown_sealing_key" | "not_authentic") {
    super(`The sealed PSK cannot be opened: ${reason}.`);
    this.name = "PskOpeningError";
  }
}

/** The key that a sealed PSK needs, to find those that a new key has not re-sealed; or null. */
export function sealingKeyIdOf(sealed: string): string | null {
  return splitSealed(sealed)?.keyId ?? null;
}

/** `v1.<sealing key id>.<base64 of nonce and secretbox>`; the box holds the PSK, then its owner. */
export function sealPresharedKey(
  psk: PresharedKey,
  { owner, sealingKeys: [newest] }: { owner: SealOwner; sealingKeys: SealingKeys },
): string {
  const nonce = nacl.randomBytes(nacl.secretbox.nonceLength);
  const secretContent = new Uint8Array([...psk.revealBytes(), ...ownerBytes(owner)]);
  const box = nacl.secretbox(secretContent, nonce, newest.revealBytes());
  return `v1.${newest.id}.${encodeBase64(new Uint8Array([...nonce, ...box]))}`;
}

/** Throws `PskOpeningError`. */
export function openPresharedKey(
  sealed: string,
  { owner, sealingKeys }: { owner: SealOwner; sealingKeys: SealingKeys },
): PresharedKey {
  const parts = splitSealed(sealed);
  if (parts === null) throw new PskOpeningError("malformed");
  const sealingKey = sealingKeys.find(({ id }) => id === parts.keyId);
  if (sealingKey === undefined) throw new PskOpeningError("unknown_sealing_key");
  const secretContent = nacl.secretbox.open(parts.box, parts.nonce, sealingKey.revealBytes());
  const expected = ownerBytes(owner);
  if (
    secretContent?.length !== 32 + expected.length ||
    !expected.every((byte, index) => byte === secretContent[32 + index])
  ) {
    throw new PskOpeningError("not_authentic");
  }
  return new PresharedKey(secretContent.slice(0, 32));
}

function splitSealed(sealed: string) {
  const [, keyId, base64] = /^v1\.([0-9a-f]{16})\.([A-Za-z0-9+/=]+)$/.exec(sealed) ?? [];
  const bytes = base64 === undefined ? null : decodeBase64(base64);
  const nonceLength = nacl.secretbox.nonceLength;
  if (keyId === undefined || bytes === null || bytes.length <= nonceLength) return null;
  return { keyId, nonce: bytes.subarray(0, nonceLength), box: bytes.subarray(nonceLength) };
}

/** Identifiers hold no line break, so no two owners give the same bytes. */
function ownerBytes({ lowAgent, highAgent, version }: SealOwner): Uint8Array {
  return new TextEncoder().encode([version, lowAgent, highAgent].join("\n"));
}

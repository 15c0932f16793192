import nacl from "tweetnacl";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { decodeKey } from "./key.ts";
import { accepted, type Parsed, refused } from "./parsed.ts";
import { type AgentPair, PresharedKey } from "./psk.ts";

/** One of PSK_ENCRYPTION_KEYS. Printing or serialising it shows only its id. */
export class SealingKey {
  /** 16 hex digits of the key's SHA-512, stored beside what it sealed. */
  readonly id: string;
  readonly #secretBytes: Uint8Array;

  constructor(secretBytes: Uint8Array) {
    const digest = nacl.hash(secretBytes).subarray(0, 8);
    this.id = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#secretBytes = secretBytes;
  }

  revealBytes(): Uint8Array {
    return this.#secretBytes;
  }
}

/** Newest first: the first seals, every one opens. */
export type SealingKeys = readonly [SealingKey, ...SealingKey[]];

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

/** PSK_ENCRYPTION_KEYS: base64 of 32 bytes each, comma-separated, newest first. */
export function parseSealingKeys(secretText: string): Parsed<SealingKeys> {
  const decoded = secretText.split(",").map((part) => decodeKey(part.trim()));
  const keys = decoded.flatMap((bytes) => bytes === null ? [] : [new SealingKey(bytes)]);
  const [newest, ...older] = keys;
  if (newest === undefined || keys.length !== decoded.length) {
    return refused("Must be comma-separated keys, newest first, each the base64 of 32 bytes.");
  }
  return accepted([newest, ...older]);
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

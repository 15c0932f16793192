import { createHmac, timingSafeEqual } from "node:crypto";

/** STUN messages (RFC 8489), with what TURN (RFC 8656) adds. */

export const METHOD = {
  binding: 0x001,
  allocate: 0x003,
  refresh: 0x004,
  send: 0x006,
  data: 0x007,
  createPermission: 0x008,
  channelBind: 0x009,
} as const;

export const CLASS = {
  request: 0x000,
  indication: 0x010,
  success: 0x100,
  error: 0x110,
} as const;

export const ATTRIBUTE = {
  username: 0x0006,
  messageIntegrity: 0x0008,
  errorCode: 0x0009,
  channelNumber: 0x000c,
  lifetime: 0x000d,
  xorPeerAddress: 0x0012,
  data: 0x0013,
  realm: 0x0014,
  nonce: 0x0015,
  xorRelayedAddress: 0x0016,
  requestedAddressFamily: 0x0017,
  requestedTransport: 0x0019,
  xorMappedAddress: 0x0020,
} as const;

const MAGIC_COOKIE = 0x2112a442;
const HEADER_BYTES = 20;
const INTEGRITY_BYTES = 24;

export type Attributes = ReadonlyMap<number, Uint8Array>;

/** A message to write. */
export interface StunMessage {
  readonly method: number;
  readonly kind: number;
  /** 12 bytes, as hexadecimal digits. */
  readonly transaction: string;
  readonly attributes: Attributes;
}

/** A parsed message. `hasRightIntegrity` tells whether it is authentic. */
export interface ReceivedStun extends StunMessage {
  /** Null for a message without MESSAGE-INTEGRITY. */
  readonly integrity: {
    readonly digest: Uint8Array;
    /** The bytes that the digest covers, except that the length in them is different. */
    readonly covered: Uint8Array;
  } | null;
}

/** Writes a message, with MESSAGE-INTEGRITY if there is a key. */
export function writeStun(
  { method, kind, transaction, attributes }: StunMessage,
  key: Uint8Array | null = null,
): Uint8Array {
  const parts = [...attributes].map(([type, value]) => writeAttribute(type, value));
  const body = parts.reduce((sum, { length }) => sum + length, 0);
  const length = body + (key === null ? 0 : INTEGRITY_BYTES);
  const message = new Uint8Array(HEADER_BYTES + length);
  const view = new DataView(message.buffer);
  view.setUint16(0, method | kind);
  // The length includes MESSAGE-INTEGRITY, although the digest does not cover it.
  view.setUint16(2, length);
  view.setUint32(4, MAGIC_COOKIE);
  message.set(bytesOfHex(transaction), 8);
  let at = HEADER_BYTES;
  for (const part of parts) {
    message.set(part, at);
    at += part.length;
  }
  if (key !== null) {
    const digest = createHmac("sha1", key).update(message.subarray(0, at)).digest();
    message.set(writeAttribute(ATTRIBUTE.messageIntegrity, digest), at);
  }
  return message;
}

/**
 * Null if the bytes are not a STUN message. Attributes after MESSAGE-INTEGRITY are not protected by
 * it, and are left out (RFC 8489, 14.5). Only FINGERPRINT belongs there.
 */
export function parseStun(bytes: Uint8Array): ReceivedStun | null {
  if (bytes.length < HEADER_BYTES || bytes[0]! > 0x3f) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint16(2);
  const isWhole = HEADER_BYTES + length === bytes.length && length % 4 === 0;
  if (view.getUint32(4) !== MAGIC_COOKIE || !isWhole) return null;
  const attributes = new Map<number, Uint8Array>();
  let integrity: ReceivedStun["integrity"] = null;
  let at = HEADER_BYTES;
  while (at < bytes.length) {
    const [type, size] = [view.getUint16(at), view.getUint16(at + 2)];
    if (at + 4 + size > bytes.length) return null;
    const value = bytes.subarray(at + 4, at + 4 + size);
    if (integrity === null) {
      // Of two attributes of one type, the first counts.
      if (!attributes.has(type)) attributes.set(type, value);
      if (type === ATTRIBUTE.messageIntegrity) {
        integrity = { digest: value, covered: bytes.subarray(0, at) };
      }
    }
    at += 4 + padded(size);
  }
  const type = view.getUint16(0);
  return {
    method: type & ~CLASS.error,
    kind: type & CLASS.error,
    transaction: hexOf(bytes.subarray(8, HEADER_BYTES)),
    attributes,
    integrity,
  };
}

/** Whether the message was written with the key, and was not changed since. */
export function hasRightIntegrity({ integrity }: ReceivedStun, key: Uint8Array): boolean {
  if (integrity === null || integrity.digest.length !== INTEGRITY_BYTES - 4) return false;
  const covered = new Uint8Array(integrity.covered);
  const length = covered.length - HEADER_BYTES + INTEGRITY_BYTES;
  new DataView(covered.buffer).setUint16(2, length);
  const digest = createHmac("sha1", key).update(covered).digest();
  return timingSafeEqual(digest, integrity.digest);
}

/** The code of an error response, 300 to 699; 0 if it has none. */
export function errorCodeOf({ attributes }: StunMessage): number {
  const value = attributes.get(ATTRIBUTE.errorCode);
  return value === undefined || value.length < 4 ? 0 : (value[2]! & 7) * 100 + value[3]!;
}

export function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

function writeAttribute(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + padded(value.length));
  bytes.set([type >> 8, type & 0xff, value.length >> 8, value.length & 0xff]);
  bytes.set(value, 4);
  return bytes;
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

export function bytesOfHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

import { Buffer } from "node:buffer";
import { CookieJar } from "../../wireguard/handshake/cookies.ts";

/** The public key of the host that receives the initiations. */
export const OWN_KEY = "own=";

const LENGTHS: Readonly<Record<number, number>> = { 1: 148, 2: 92, 3: 64, 4: 48, 5: 148 };

/** A WireGuard message: its unencrypted fields are set, and an initiation has its first MAC. */
export function message(type: number, ...indices: number[]): Uint8Array {
  const datagram = unsigned(type, ...indices);
  if (type === 1) new CookieJar(Buffer.from(OWN_KEY, "base64")).stamp(datagram, 0);
  return datagram;
}

/** The same without a MAC: a sender needs no public key of the host for this. */
export function unsigned(type: number, ...indices: number[]): Uint8Array {
  const datagram = new Uint8Array(LENGTHS[type]!);
  const view = new DataView(datagram.buffer);
  view.setUint32(0, type, true);
  for (const [at, index] of indices.entries()) view.setUint32(4 + 4 * at, index, true);
  return datagram;
}

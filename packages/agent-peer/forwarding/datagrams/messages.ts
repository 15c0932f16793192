/** The unencrypted part of WireGuard's messages (the protocol's paper, section 5.4). */
export type Header =
  | { readonly type: "initiation"; readonly sender: number }
  | { readonly type: "response"; readonly sender: number; readonly receiver: number }
  | { readonly type: "cookie" | "data"; readonly receiver: number };

const INITIATION = { type: 1, length: 148 };
const RESPONSE = { type: 2, length: 92 };
const COOKIE = { type: 3, length: 64 };
const DATA = { type: 4, shortest: 32 };

/** Null if the datagram is not a WireGuard message. Reads only types, lengths and indices. */
export function headerOf(datagram: Uint8Array): Header | null {
  const { length } = datagram;
  if (length < DATA.shortest) return null;
  const view = new DataView(datagram.buffer, datagram.byteOffset, length);
  const type = view.getUint32(0, true);
  const [first, second] = [view.getUint32(4, true), view.getUint32(8, true)];
  if (type === INITIATION.type && length === INITIATION.length) {
    return { type: "initiation", sender: first };
  }
  if (type === RESPONSE.type && length === RESPONSE.length) {
    return { type: "response", sender: first, receiver: second };
  }
  if (type === COOKIE.type && length === COOKIE.length) return { type: "cookie", receiver: first };
  return type === DATA.type ? { type: "data", receiver: first } : null;
}

/** What opens the way through a router or a kernel, and carries nothing. */

/** A datagram that opens a router for the peer's datagrams. WireGuard drops it as too short. */
export const PUNCH: Uint8Array<ArrayBuffer> = new Uint8Array(1);

/** The discard port (RFC 863). No rule lets packets in there. */
export const DISCARD = 9;

const [TCP, RST] = [6, 4];

/** Whether a packet of the stack resets a TCP connection. The stack sends no other headers. */
export function isReset(packet: Uint8Array): boolean {
  const isIpv6 = packet[0]! >> 4 === 6;
  const protocol = packet[isIpv6 ? 6 : 9];
  const flags = packet[(isIpv6 ? 40 : 20) + 13] ?? 0;
  return protocol === TCP && (flags & RST) !== 0;
}

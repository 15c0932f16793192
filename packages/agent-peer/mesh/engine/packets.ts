import { echoRequest } from "../../ip/filter/echo_request.ts";
import { addressOf } from "./rules.ts";

/** Asks the peer's first address from an own one of the same family. */
export function pingOf(own: readonly string[], [to]: readonly string[]): Uint8Array | null {
  const from = own.find((address) => address.includes(":") === to?.includes(":"));
  if (to === undefined || from === undefined) return null;
  return echoRequest({ from: addressOf(from), to: addressOf(to) });
}

/**
 * Whether a packet of the stack resets a TCP connection. Between IP and TCP, the stack sends no
 * other headers.
 */
export function isReset(packet: Uint8Array): boolean {
  const [TCP, RST] = [6, 4];
  const isIpv6 = packet[0]! >> 4 === 6;
  const protocol = packet[isIpv6 ? 6 : 9];
  const flags = packet[(isIpv6 ? 40 : 20) + 13] ?? 0;
  return protocol === TCP && (flags & RST) !== 0;
}

import { isIPv6 } from "node:net";
import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";
import { localAddresses as systemAddresses } from "../places/local_addresses.ts";
import { Allocation } from "../turn/allocation.ts";
import { openTurnStream, type TurnTransport } from "../turn/transport.ts";
import { openTurnUdp } from "../turn/udp_transport.ts";
import type { Attempt } from "./attempts.ts";

export interface RelayOptions {
  readonly surroundings: Surroundings;
  readonly openSocket: (options: UdpOptions) => Promise<UdpSocket>;
  /** Default: the addresses of this machine. */
  readonly localAddresses?: () => string[];
  readonly lookUp: (name: string) => Promise<readonly string[]>;
  /** PEM certificates that replace the system's. */
  readonly ca?: string;
  readonly onDatagram: (datagram: Uint8Array, from: Endpoint) => void;
}

/** Opens an allocation on a TURN server. Rejects on failure, with an error that has no secret. */
export async function openAllocation(
  attempt: Attempt,
  { via, family, onEnd, ...options }: RelayOptions & {
    readonly via: string;
    readonly family?: 4 | 6;
    readonly onEnd: () => void;
  },
): Promise<Allocation> {
  let allocation: Allocation | null = null;
  const transport = await openTransport(attempt, {
    ...options,
    onMessage: (message) => allocation?.receive(message),
    onClose: () => allocation?.end(),
  });
  const { username, credential } = attempt;
  const { surroundings, onDatagram } = options;
  allocation = new Allocation({
    transport,
    username,
    credential,
    surroundings,
    via,
    ...(family && { family }),
    onDatagram,
    onEnd,
  });
  try {
    await allocation.open();
    return allocation;
  } catch (error) {
    allocation.close();
    throw error;
  }
}

export async function openTransport(
  { transport, host, port, proxy }: Attempt,
  { openSocket, localAddresses = systemAddresses, lookUp, ca, onMessage, onClose }:
    & Omit<RelayOptions, "onDatagram">
    & {
      readonly onMessage: (message: Uint8Array) => void;
      readonly onClose: () => void;
    },
): Promise<TurnTransport> {
  if (transport !== "udp") {
    const isTls = transport === "tls";
    return await openTurnStream({
      host,
      port,
      isTls,
      proxy,
      ...(ca && { ca }),
      onMessage,
      onClose,
    });
  }
  const addresses = await lookUp(host);
  const isUsable = (address: string) => isIPv6(address) === isIpv6Alone(localAddresses());
  const address = addresses.find(isUsable) ?? addresses[0];
  if (address === undefined) throw new Error("The TURN server's name has no address.");
  return await openTurnUdp({ server: { address, port }, openSocket, onMessage });
}

/**
 * Whether this machine has only IPv6 addresses. UDP to an IPv4 address would then just time out.
 */
function isIpv6Alone(addresses: readonly string[]): boolean {
  return addresses.length > 0 && addresses.every(isIPv6);
}

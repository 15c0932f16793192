import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";

export interface ForwarderOptions {
  readonly surroundings: Surroundings;
  /** This host's public key. */
  readonly publicKey: string;
  readonly send: (datagram: Uint8Array, to: Endpoint) => void;
  /** The number of relays on the path to an endpoint. */
  readonly rankOf: (endpoint: Endpoint) => number;
  readonly openSocket: (options: UdpOptions) => Promise<UdpSocket>;
}

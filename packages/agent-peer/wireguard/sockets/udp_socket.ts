import type { Endpoint } from "../surroundings.ts";

/** Sends and receives datagrams. No problem with a single datagram throws. */
export interface DatagramSocket {
  readonly via: string;
  /** A datagram that cannot be sent is lost, as datagrams may be. */
  send(
    datagram: Uint8Array,
    to: { readonly address: string; readonly port: number },
  ): void;
  close(): void;
}

export interface UdpSocket extends DatagramSocket {
  /** The port of this machine, the same for IPv4 and IPv6 if it has both. */
  readonly port: number;
  readonly families: readonly ("ipv4" | "ipv6")[];
}

export interface UdpOptions {
  /** 0: any free one. */
  readonly port: number;
  /** The `via` of endpoints that this socket reaches. */
  readonly via: string;
  readonly onDatagram: (datagram: Uint8Array, from: Endpoint) => void;
  /** Whether to listen only at 127.0.0.1. */
  readonly isLoopback?: boolean;
}

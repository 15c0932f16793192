import type { Endpoint } from "../surroundings.ts";

/** Where datagrams leave and arrive. Nothing it does about one datagram throws. */
export interface DatagramSocket {
  readonly via: string;
  /** A datagram that cannot be sent is lost, as any other. */
  send(
    datagram: Uint8Array,
    to: { readonly address: string; readonly port: number },
  ): void;
  close(): void;
}

export interface UdpSocket extends DatagramSocket {
  /** Of this machine; the same for IPv4 and IPv6, where both are there. */
  readonly port: number;
  readonly families: readonly ("ipv4" | "ipv6")[];
}

export interface UdpOptions {
  /** 0: any free one. */
  readonly port: number;
  /** What endpoints of this socket are called. */
  readonly via: string;
  readonly onDatagram: (datagram: Uint8Array, from: Endpoint) => void;
  /** At 127.0.0.1 alone. */
  readonly isLoopback?: boolean;
}

/**
 * A socket for both families. Deno's own, where there is one: `node:dgram` takes in 582 datagrams a
 * second there. Rejects if the port is taken, or in Deno without `--unstable-net`.
 */
export async function openUdpSocket(options: UdpOptions): Promise<UdpSocket> {
  if ("Deno" in globalThis) {
    const { openDenoSocket } = await import("./deno_socket.ts");
    return openDenoSocket(options);
  }
  const { openNodeSocket } = await import("./node_socket.ts");
  return await openNodeSocket(options);
}

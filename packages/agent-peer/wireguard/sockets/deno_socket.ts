import type { UdpOptions, UdpSocket } from "./udp_socket.ts";

/**
 * The part of Deno's unstable API that is used here. The package cannot rely on Deno's types,
 * because it is not compiled only for Deno.
 */
interface DenoNet {
  listenDatagram?(options: {
    transport: "udp";
    hostname: string;
    port: number;
  }): DatagramConnection;
}

interface NetAddress {
  readonly hostname: string;
  readonly port: number;
}

interface DatagramConnection {
  readonly addr: NetAddress;
  receive(buffer?: Uint8Array): Promise<[Uint8Array, NetAddress]>;
  send(
    datagram: Uint8Array,
    to: NetAddress & { transport: "udp" },
  ): Promise<number>;
  close(): void;
}

const LARGEST_DATAGRAM = 65_535;

/** How one socket for both families writes IPv4 addresses (RFC 4291, 2.5.5.2). */
const MAPPED = "::ffff:";

export function openDenoSocket(
  { port, via, onDatagram, isLoopback = false }: UdpOptions,
): UdpSocket {
  const { socket, isDual } = listen(port, isLoopback);
  let isClosed = false;

  async function read(): Promise<void> {
    const buffer = new Uint8Array(LARGEST_DATAGRAM);
    while (!isClosed) {
      const arrived = await socket.receive(buffer).catch(afterError);
      if (arrived === null) continue;
      const [datagram, { hostname, port }] = arrived;
      // Nothing can be sent to port 0, so it cannot be a peer's endpoint.
      if (port === 0) continue;
      const isMapped = hostname.startsWith(MAPPED) && hostname.includes(".");
      const address = isMapped ? hostname.slice(MAPPED.length) : hostname;
      onDatagram(datagram, { address, port, via });
    }
  }

  void read();
  return {
    via,
    port: socket.addr.port,
    families: isDual ? ["ipv4", "ipv6"] : ["ipv4"],
    send(datagram, { address, port }) {
      const isIpv6 = address.includes(":");
      if (isClosed || port === 0 || (isIpv6 && !isDual)) return;
      const hostname = isDual && !isIpv6 ? `${MAPPED}${address}` : address;
      socket.send(datagram, { transport: "udp", hostname, port }).catch(
        afterError,
      );
    },
    close() {
      isClosed = true;
      socket.close();
    },
  };
}

function listen(
  port: number,
  isLoopback: boolean,
): { socket: DatagramConnection; isDual: boolean } {
  const { listenDatagram } = (globalThis as unknown as { Deno: DenoNet }).Deno;
  if (listenDatagram === undefined) {
    throw new Error(
      "Under Deno, WireGuard needs UDP: run deno with --unstable-net.",
    );
  }
  if (isLoopback) {
    const socket = listenDatagram({ transport: "udp", hostname: "127.0.0.1", port });
    return { socket, isDual: false };
  }
  try {
    return {
      socket: listenDatagram({ transport: "udp", hostname: "::", port }),
      isDual: true,
    };
  } catch {
    // The machine may lack IPv6. If the port is taken, this fails as well.
    const hostname = "0.0.0.0";
    return {
      socket: listenDatagram({ transport: "udp", hostname, port }),
      isDual: false,
    };
  }
}

/**
 * Ignores an error: an ICMP error about an earlier datagram, a network that is down, or `close`.
 */
async function afterError(): Promise<null> {
  // Wait: a socket that fails permanently must not use the whole processor.
  await new Promise((resolve) => setTimeout(resolve, 1));
  return null;
}

import { createSocket, type Socket } from "node:dgram";
import type { UdpOptions, UdpSocket } from "./udp_socket.ts";

/** More than an encrypted stream has in flight in one turn of the event loop. */
const BUFFER_BYTES = 4 * 1024 * 1024;

/** One socket per family: an IPv6 socket for both would show IPv4 addresses as mapped ones. */
export async function openNodeSocket(
  { port, via, onDatagram, isLoopback = false }: UdpOptions,
): Promise<UdpSocket> {
  const ipv4 = await bind("udp4", port, isLoopback ? "127.0.0.1" : undefined);
  const ownPort = ipv4.address().port;
  // The machine may lack IPv6, or another program may use that port. IPv4 alone is enough.
  const ipv6 = isLoopback ? null : await bind("udp6", ownPort).catch(() => null);
  const sockets = ipv6 === null ? [ipv4] : [ipv4, ipv6];
  let isClosed = false;
  for (const socket of sockets) {
    socket.on("message", (datagram, { address, port }) => {
      // Nothing can be sent to port 0, so it cannot be a peer's endpoint.
      if (port !== 0) onDatagram(datagram, { address, port, via });
    });
    // Ignore it: an ICMP error about an earlier datagram.
    socket.on("error", () => {});
  }
  return {
    via,
    port: ownPort,
    families: ipv6 === null ? ["ipv4"] : ["ipv4", "ipv6"],
    send(datagram, { address, port }) {
      // In both cases, Node would throw. It ignores the errors of a send without a callback.
      if (isClosed || port === 0) return;
      (address.includes(":") ? ipv6 : ipv4)?.send(datagram, port, address);
    },
    close() {
      isClosed = true;
      for (const socket of sockets) socket.close();
    },
  };
}

function bind(type: "udp4" | "udp6", port: number, address?: string): Promise<Socket> {
  const socket = createSocket({ type, ipv6Only: type === "udp6", lookup: addressItself });
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => {
      socket.close();
      reject(error);
    });
    socket.bind(port, address, () => {
      socket.removeAllListeners("error");
      try {
        socket.setRecvBufferSize(BUFFER_BYTES);
        socket.setSendBufferSize(BUFFER_BYTES);
      } catch {
        // Keep the system's own sizes, which are slower, but not wrong.
      }
      resolve(socket);
    });
  });
}

/** In the place of a look-up, which would take a turn of its own for each datagram. */
function addressItself(
  address: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void {
  callback(null, address, address.includes(":") ? 6 : 4);
}

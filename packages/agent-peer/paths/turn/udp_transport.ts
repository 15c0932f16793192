import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Address } from "../stun/address.ts";
import type { TurnTransport } from "./transport.ts";

/**
 * TURN over UDP, with a separate socket for each allocation. An allocation belongs to a pair of
 * ports: with one socket, a second allocation with fresh credentials would be impossible until the
 * first has ended.
 */
export async function openTurnUdp(
  { server, openSocket, onMessage }: {
    readonly server: Address;
    readonly openSocket: (options: UdpOptions) => Promise<UdpSocket>;
    readonly onMessage: (message: Uint8Array) => void;
  },
): Promise<TurnTransport> {
  let isClosed = false;
  const socket = await openSocket({
    port: 0,
    via: "turn",
    onDatagram(datagram, { address, port }) {
      // Accept only the server's datagrams.
      if (!isClosed && address === server.address && port === server.port) onMessage(datagram);
    },
  });
  const send = (message: Uint8Array) => {
    if (!isClosed) socket.send(message, server);
  };
  return {
    isReliable: false,
    send,
    sendData: send,
    close() {
      if (!isClosed) socket.close();
      isClosed = true;
    },
  };
}

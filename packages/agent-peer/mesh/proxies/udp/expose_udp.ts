import { openUdpSocket } from "../../../wireguard/sockets/open_udp_socket.ts";
import type { UdpSocket } from "../../../wireguard/sockets/udp_socket.ts";
import type { Exposure } from "../expose.ts";
import type { LocalPort } from "./forward_udp.ts";
import { readAll, UdpSessions, type UdpSides } from "./sessions.ts";

const LOOPBACK = "127.0.0.1";

/**
 * Passes datagrams of peers, if a rule allows them, on to a program on this machine, and its
 * answers back. Each port of a peer has a port of its own on this machine. Rejects if the port is
 * taken.
 */
export async function exposeUdp(
  { mesh, openSocket = openUdpSocket }: UdpSides,
  { port, localPort }: Exposure,
): Promise<LocalPort> {
  const sessions = new UdpSessions<UdpSocket>();
  const exposed = await mesh.udp({ port });
  const program = { address: LOOPBACK, port: localPort };
  void readAll(exposed, ({ data, from }) => {
    const sender = `${from.address} ${from.port}`;
    void sessions.pass({
      owner: from.agentId,
      sender,
      open: () =>
        openSocket({
          port: 0,
          via: "local",
          isLoopback: true,
          onDatagram(answer, { address, port }) {
            // Other programs of this machine can send to this port, too.
            if (address !== LOOPBACK || port !== localPort) return;
            sessions.answered(sender);
            exposed.send(answer.slice(), from).catch(() => {});
          },
        }),
      send: (socket) => socket.send(data, program),
    });
  }).catch(() => {});
  const close = () => {
    exposed.close();
    sessions.close();
  };
  return { port: exposed.port, close };
}

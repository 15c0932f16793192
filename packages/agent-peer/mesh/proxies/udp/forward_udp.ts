import { openUdpSocket } from "../../../wireguard/sockets/open_udp_socket.ts";
import type { UdpForwarding } from "../forward.ts";
import { type MeshPort, readAll, UdpSessions, type UdpSides } from "./sessions.ts";

/** A port of this machine that is open. */
export interface LocalPort {
  readonly port: number;
  close(): void;
}

/**
 * Passes datagrams of programs on to a peer, and its answers back. Each port of a program has a
 * port of its own in the mesh. Rejects if the local port is taken.
 */
export async function forwardUdp(
  { mesh, openSocket = openUdpSocket }: UdpSides,
  { localPort, host, port }: UdpForwarding,
): Promise<LocalPort> {
  const sessions = new UdpSessions<MeshPort>();
  const local = await openSocket({
    port: localPort,
    via: "local",
    isLoopback: true,
    onDatagram(bytes, program) {
      // The socket may use the memory again.
      const data = bytes.slice();
      const sender = `${program.address} ${program.port}`;
      void sessions.pass({
        owner: "programs",
        sender,
        async open() {
          const socket = await mesh.udp();
          void readAll(socket, (answer) => {
            if (answer.from.port !== port) return;
            sessions.answered(sender);
            local.send(answer.data, program);
          }).catch(() => {});
          return socket;
        },
        send: (socket) => socket.send(data, { host, port }),
      });
    },
  });
  const close = () => {
    local.close();
    sessions.close();
  };
  return { port: local.port, close };
}

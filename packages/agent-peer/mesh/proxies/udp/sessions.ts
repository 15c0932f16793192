import { IdleTable } from "../../../ip/udp/idle_table.ts";
import type { openUdpSocket } from "../../../wireguard/sockets/open_udp_socket.ts";
import type { MeshUdpSocket } from "../../datagrams/mesh_udp_socket.ts";

/** The part of `Mesh` that is used here. */
export interface UdpMesh {
  udp(
    options?: { readonly port?: number },
  ): Promise<Pick<MeshUdpSocket, "port" | "send" | "receive" | "close">>;
}

/** Where datagrams go, and come from. */
export interface UdpSides {
  readonly mesh: UdpMesh;
  /** Opens a port of this machine. Default: a socket of the system. */
  readonly openSocket?: typeof openUdpSocket;
}

export type MeshPort = Awaited<ReturnType<UdpMesh["udp"]>>;

/** How many sessions there are at a time, at most: of all senders, and of one. */
const MOST = 1024;
/** As long as the mesh lets answers in. */
const IDLE_MS = 60_000;
/** How many datagrams of a session are under way. More are lost. */
const MOST_UNDER_WAY = 256;

interface Session<Socket> {
  readonly socket: Promise<Socket>;
  underWay: number;
}

/**
 * Gives each sender of datagrams a socket of its own, so that answers find their way back. A sender
 * is forgotten a minute after the last datagram in either direction. An owner of too many senders
 * loses its own longest idle ones.
 */
export class UdpSessions<Socket extends { close(): void }> {
  readonly #table = new IdleTable<Session<Socket>>({
    most: MOST,
    idleMs: IDLE_MS,
    onEnd: ({ socket }) => void socket.then((socket) => socket.close(), () => {}),
  });

  /** Passes a datagram on. `open` makes the socket of a new sender. A failure loses it. */
  async pass(
    { owner, sender, open, send }: {
      readonly owner: string;
      readonly sender: string;
      readonly open: () => Promise<Socket>;
      readonly send: (socket: Socket) => void | Promise<void>;
    },
  ): Promise<void> {
    const session = this.#table.use(sender) ?? this.#add(owner, sender, open());
    if (session === null || session.underWay >= MOST_UNDER_WAY) return;
    session.underWay++;
    try {
      await send(await session.socket);
    } catch {
      // No rule, or no such peer: the flow log has it.
    } finally {
      session.underWay--;
    }
  }

  /** Says that a sender has got an answer. */
  answered(sender: string): void {
    this.#table.use(sender);
  }

  close(): void {
    this.#table.endIf(() => true, "closed");
  }

  #add(owner: string, sender: string, socket: Promise<Socket>): Session<Socket> | null {
    const session = { socket, underWay: 0 };
    // The next datagram tries again.
    socket.catch(() => this.#table.endIf((other) => other === session, "closed"));
    if (this.#table.add(owner, sender, session)) return session;
    void socket.then((socket) => socket.close(), () => {});
    return null;
  }
}

/** Calls a function with each datagram of a port, until the port is closed. */
export async function readAll(
  port: MeshPort,
  take: (datagram: NonNullable<Awaited<ReturnType<MeshPort["receive"]>>>) => void,
): Promise<void> {
  for (let next = await port.receive(); next !== null; next = await port.receive()) take(next);
}

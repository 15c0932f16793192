import type { MeshUdpSocket } from "./datagrams/mesh_udp_socket.ts";
import type { Flow } from "./flows/flow.ts";
import { meshFetch } from "./http/fetch.ts";
import { connectionServer, type ServeHandler, type ServeOptions } from "./http/serve.ts";
import type { From } from "./from.ts";
import type { Member } from "./member.ts";
import type { Connection } from "./sockets/connection.ts";
import { type MeshSocket, toSocket } from "./sockets/mesh_socket.ts";
import { MeshNetSocket, type NetSocketOptions } from "./sockets/net_socket.ts";

/** A peer, and how it is reached. */
export interface MeshPeer {
  readonly agentId: string;
  readonly name: string;
  /** One IPv4, one IPv6. */
  readonly addresses: readonly string[];
  /** How packets travel: directly, by a relay, or not at all, if there was no recent handshake. */
  readonly path: "direct" | "relay" | "none";
  /** Why there is no path, as far as can be known; null if there is one. */
  readonly reason: string | null;
  /** `<host>:<port>` where the peer was last heard from. */
  readonly endpoint: string | null;
  readonly handshakeAgeSeconds: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Connections that the peer has opened to this agent, and that are open. */
  readonly connections: number;
  /** Bytes of the peer's connections that wait here: to be read, sent or put in order. */
  readonly heldBytes: number;
  /** Packets and connections beyond the peer's share of this agent's stack. */
  readonly refused: number;
}

export interface ConnectOptions {
  /**
   * The `name` of a peer, with or without `.mesh.internal`, its agent's identifier, or one of its
   * tunnel addresses.
   */
  readonly host: string;
  /** The TCP port. */
  readonly port: number;
  readonly signal?: AbortSignal;
}

export interface MeshListener extends Disposable {
  readonly port: number;
  /** Accepts no more connections. Connections that were accepted stay. */
  close(): void;
}

/** An agent's place in the mesh. `join` makes it. */
export class Mesh implements AsyncDisposable {
  /**
   * Resolves when this place is lost: to null after `close`, else to the reason. That is a
   * MeshError `superseded` if another process joined as the same agent, and an AgentError if the
   * service no longer accepts the agent's key.
   */
  readonly closed: Promise<Error | null>;
  readonly #member: Member;

  /** Only `join` creates it. */
  constructor(member: Member) {
    this.#member = member;
    this.closed = member.ended;
  }

  get agentId(): string {
    return this.#member.agentId;
  }

  /** The name by which neighbours find this agent. */
  get name(): string {
    return this.#member.name;
  }

  /** This agent's tunnel addresses: one IPv4, one IPv6. */
  get addresses(): readonly string[] {
    return this.#member.addresses;
  }

  /**
   * Connects to a port of a peer, if a rule allows it. Resolves to a `net.Socket` of Node or, under
   * Deno, to a `Deno.Conn`. Rejects with MeshError, TcpError, or the signal's reason.
   *
   * @example
   * ```ts
   * const socket = await mesh.connect({ host: "builder", port: 443 });
   * ```
   */
  async connect(to: ConnectOptions): Promise<MeshSocket> {
    return toSocket(await this.#connect(to));
  }

  /**
   * Accepts connections to a port, if a rule allows them. Rejects with MeshError or TcpError.
   *
   * @example
   * ```ts
   * const listener = await mesh.listen(8080, (socket, { from }) => serve(socket, from.agentId));
   * ```
   */
  async listen(
    port: number,
    handle: (socket: MeshSocket, about: { readonly from: From }) => void | Promise<void>,
  ): Promise<MeshListener> {
    return await this.#listen(
      port,
      (connection) => handle(toSocket(connection), { from: connection.remote }),
    );
  }

  /**
   * A `net.Socket` of Node that is not connected yet, for libraries that connect it themselves, by
   * `connect(port, host)`. The host is a peer. It is a `net.Socket` under Deno, too.
   *
   * @example
   * ```ts
   * const database = new pg.Client({ host: "db", stream: () => mesh.netSocket() });
   * ```
   */
  netSocket(options?: NetSocketOptions): MeshNetSocket {
    return new MeshNetSocket((to) => this.#connect(to), options);
  }

  /** Like `connect`, but resolves to a `net.Socket` under Deno, too. */
  async connectNet(to: ConnectOptions, options?: NetSocketOptions): Promise<MeshNetSocket> {
    return new MeshNetSocket(null, options).open(await this.#connect(to));
  }

  /**
   * Like `listen`, but with a `net.Socket` under Deno, too.
   *
   * @example
   * ```ts
   * await mesh.listenNet(8080, (socket) => void httpServer.emit("connection", socket));
   * ```
   */
  async listenNet(
    port: number,
    handle: (socket: MeshNetSocket, about: { readonly from: From }) => void | Promise<void>,
    options?: NetSocketOptions,
  ): Promise<MeshListener> {
    return await this.#listen(
      port,
      (connection) =>
        handle(new MeshNetSocket(null, options).open(connection), { from: connection.remote }),
    );
  }

  /**
   * Answers HTTP requests to a port, if a rule allows their connections. The second argument of the
   * handler says who asks. What it throws is answered with 500, without details. If the caller
   * leaves before the answer is sent, `request.signal` is aborted. Rejects with MeshError or
   * TcpError.
   *
   * @example
   * ```ts
   * await mesh.serve(8080, (request, { agentId }) => new Response(`Hello, ${agentId}`));
   * ```
   */
  async serve(
    port: number,
    handler: ServeHandler,
    options: ServeOptions = {},
  ): Promise<MeshListener> {
    const take = await connectionServer(handler, options);
    return await this.listenNet(port, (socket, { from }) => take(socket, from), {
      allowHalfOpen: true,
    });
  }

  /**
   * Like the global `fetch`, over the mesh: HTTP/1.1. The host of the URL is a peer.
   *
   * @example
   * ```ts
   * const tasks = await (await mesh.fetch("http://builder:8080/tasks")).json();
   * ```
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    return meshFetch((to) => this.connectNet(to), input, init);
  }

  /**
   * Opens a UDP port, by default any free one. Rejects with MeshError, or with TcpError if the port
   * is taken.
   *
   * @example
   * ```ts
   * using socket = await mesh.udp({ port: 5353 });
   * for await (const { data, from } of socket) await socket.send(answerTo(data), from);
   * ```
   */
  udp({ port = 0 }: { readonly port?: number } = {}): Promise<MeshUdpSocket> {
    return this.#member.udp(port);
  }

  /** The visible peers, and how each is reached. It may be a second old. */
  peers(): MeshPeer[] {
    return this.#member.peers()
      .map(({ via, publicKey: _, use, ...peer }) => ({ ...peer, ...use, path: via }));
  }

  /**
   * Who connected to which port, and how it ended: the last 1,000 connections that are over, the
   * oldest first, then those that are open. The same refusals within a minute are one flow.
   */
  async flows(): Promise<Flow[]> {
    return [...await this.#member.flows()];
  }

  /**
   * Ends all connections and leaves. The agent stays registered, with its rules: it can join again.
   */
  close(): Promise<void> {
    return this.#member.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connect(to: ConnectOptions): Promise<Connection> {
    const { stream, remote } = await this.#member.connect(to);
    return { stream, remote, local: this.#local(remote.address, 0) };
  }

  async #listen(
    port: number,
    take: (connection: Connection) => void | Promise<void>,
  ): Promise<MeshListener> {
    const close = await this.#member.listen(port, async (stream, remote) => {
      try {
        await take({ stream, remote, local: this.#local(remote.address, port) });
      } catch {
        // If the application fails, reset the connection: the peer must not wait for an answer.
        stream.abort();
      }
    });
    return { port, close, [Symbol.dispose]: close };
  }

  #local(remote: string, port: number) {
    const isIpv6 = remote.includes(":");
    const address = this.addresses.find((own) => own.includes(":") === isIpv6) ?? "";
    return { address, port };
  }
}

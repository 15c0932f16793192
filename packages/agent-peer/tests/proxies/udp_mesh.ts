/** A simulated mesh for datagrams, and programs of this machine that send them. */
import { Buffer } from "node:buffer";
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import type { DatagramTarget, MeshDatagram } from "../../mesh/datagrams/mesh_udp_socket.ts";
import { MeshError } from "../../mesh/mesh_error.ts";
import { openNodeSocket } from "../../wireguard/sockets/node_socket.ts";
import type { MeshPort, UdpMesh, UdpSides } from "../../mesh/proxies/udp/sessions.ts";

/** A UDP port of the mesh, as a test sees it. */
export class PretendedPort implements MeshPort {
  readonly port: number;
  readonly sent: { readonly text: string; readonly to: DatagramTarget }[] = [];
  isClosed = false;
  #arrived: MeshDatagram[] = [];
  #wake = () => {};

  constructor(port: number) {
    this.port = port;
  }

  /** Port 1 is not allowed. Host `db` at 10.213.0.2 echoes. */
  send(data: Uint8Array, to: DatagramTarget): Promise<void> {
    if (to.port === 1) return Promise.reject(new MeshError("no_rule", "No rule."));
    this.sent.push({ text: Buffer.from(data).toString(), to });
    if ("host" in to) this.arrive(data, to.port);
    return Promise.resolve();
  }

  arrive(data: Uint8Array, port: number, address = "10.213.0.2"): void {
    this.#arrived.push({
      data: Uint8Array.from(data),
      from: { agentId: "db-1", name: "db", address, port },
    });
    this.#wake();
  }

  async receive(): Promise<MeshDatagram | null> {
    while (this.#arrived.length === 0) {
      if (this.isClosed) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#arrived.shift()!;
  }

  close(): void {
    this.isClosed = true;
    this.#wake();
  }
}

export class PretendedUdp implements UdpMesh {
  readonly ports: PretendedPort[] = [];
  /** Of Node: Deno's own need a flag. */
  readonly sides: UdpSides = { mesh: this, openSocket: openNodeSocket };
  fails = false;

  udp({ port = 0 }: { readonly port?: number } = {}): Promise<PretendedPort> {
    if (this.fails) return Promise.reject(new Error("Broken."));
    const opened = new PretendedPort(port);
    this.ports.push(opened);
    return Promise.resolve(opened);
  }
}

/** A UDP socket of a program on this machine. */
export class Program implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #arrived: { readonly bytes: Buffer; readonly from: RemoteInfo }[] = [];
  #wake = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (bytes, from) => {
      this.#arrived.push({ bytes, from });
      this.#wake();
    });
  }

  static async open(): Promise<Program> {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return new Program(socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  send(bytes: string | Uint8Array, port: number): void {
    this.#socket.send(bytes, port, "127.0.0.1");
  }

  async next(): Promise<{ readonly bytes: Buffer; readonly from: RemoteInfo }> {
    // Otherwise a datagram that is missing would make the test wait for ever.
    const giveUp = AbortSignal.timeout(60_000);
    while (this.#arrived.length === 0) {
      giveUp.throwIfAborted();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        giveUp.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    return this.#arrived.shift()!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await once(this.#socket, "close");
  }
}

/** Pairs of sockets that are connected in this process, instead of by a mesh. */
import type { ByteStream } from "../../mesh/byte_stream.ts";
import type { Connection } from "../../mesh/sockets/connection.ts";
import { Incoming } from "../incoming.ts";
import { MeshNetSocket, type NetSocketOptions } from "../../mesh/sockets/net_socket.ts";

/** One end of a connection. Remembers how it was left. */
export class End implements ByteStream {
  readonly calls: string[] = [];
  other!: End;
  readonly #incoming = new Incoming();

  take(item: Uint8Array | null | Error): void {
    this.#incoming.put(item);
  }

  read(): Promise<Uint8Array | null> {
    return this.#incoming.read();
  }

  write(bytes: Uint8Array): Promise<void> {
    this.other.take(bytes.slice());
    return Promise.resolve();
  }

  end(): Promise<void> {
    this.calls.push("end");
    this.other.take(null);
    return Promise.resolve();
  }

  close(): void {
    this.calls.push("close");
  }

  abort(): void {
    this.calls.push("abort");
  }
}

export function ends(): [End, End] {
  const pair: [End, End] = [new End(), new End()];
  [pair[0].other, pair[1].other] = [pair[1], pair[0]];
  return pair;
}

const PLANNER = { address: "10.213.0.1", port: 0, agentId: "planner-1", name: "planner" };
const BUILDER = { address: "fd00::2", port: 443, agentId: "builder-1", name: "builder" };

/** The connection of planner to builder, as planner has it. */
export function toBuilder(stream: ByteStream): Connection {
  return { stream, local: PLANNER, remote: BUILDER };
}

/** Two sockets that are connected to each other. */
export function connectedSockets(options?: NetSocketOptions): [MeshNetSocket, MeshNetSocket] {
  const [near, far] = ends();
  return [
    new MeshNetSocket(null, options).open(toBuilder(near)),
    new MeshNetSocket(null, options).open({ stream: far, local: BUILDER, remote: PLANNER }),
  ];
}

import type { ByteStream, RemotePort } from "../byte_stream.ts";
import type { Connection } from "./connection.ts";

/** An address with the fields that Deno's own type has, too. */
export interface NetAddr {
  readonly transport: "tcp";
  readonly hostname: string;
  readonly port: number;
}

/** A connection with the methods of Deno's `Deno.Conn`. */
export class MeshConn implements Disposable {
  readonly localAddr: NetAddr;
  readonly remoteAddr: NetAddr;
  /** The agent at the other end. */
  readonly agentId: string;
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array>;
  readonly #stream: ByteStream;
  #left: Uint8Array = new Uint8Array();

  constructor({ stream, local, remote }: Connection) {
    this.#stream = stream;
    this.localAddr = toNetAddr(local);
    this.remoteAddr = toNetAddr(remote);
    this.agentId = remote.agentId;
    this.readable = new ReadableStream({
      pull: async (controller) => {
        const bytes = await stream.read();
        if (bytes === null) controller.close();
        else controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
      },
      cancel: () => stream.abort(),
    }, { highWaterMark: 0 });
    this.writable = new WritableStream({
      write: (bytes) => stream.write(bytes),
      close: () => stream.end(),
      abort: () => stream.abort(),
    });
  }

  /** Reads into a buffer. Resolves to how many bytes, or to null at the end. */
  async read(buffer: Uint8Array): Promise<number | null> {
    if (buffer.length === 0) return 0;
    if (this.#left.length === 0) {
      const bytes = await this.#stream.read();
      if (bytes === null) return null;
      this.#left = bytes;
    }
    const taken = this.#left.subarray(0, buffer.length);
    buffer.set(taken);
    this.#left = this.#left.subarray(taken.length);
    return taken.length;
  }

  /** Resolves to how many bytes were written: all of them. */
  async write(bytes: Uint8Array): Promise<number> {
    // The caller may change its buffer afterwards.
    await this.#stream.write(bytes.slice());
    return bytes.length;
  }

  /** Ends this side's direction. */
  closeWrite(): Promise<void> {
    return this.#stream.end();
  }

  close(): void {
    this.#stream.close();
  }

  /** No effect: the mesh keeps the process alive, not a single connection. */
  ref(): void {}

  unref(): void {}

  [Symbol.dispose](): void {
    this.close();
  }
}

function toNetAddr({ address, port }: RemotePort): NetAddr {
  return { transport: "tcp", hostname: address, port };
}

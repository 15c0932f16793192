import { ByteQueue } from "../../ip/byte_queue.ts";
import { TcpError } from "../../ip/tcp_error.ts";
import type { ByteStream } from "../byte_stream.ts";
import { CHUNK_BYTES, ownBytes, type PortMessage, send, WINDOW_BYTES } from "./port_messages.ts";
import { fromSentError } from "./thread_errors.ts";

interface Waiting<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection that another thread has, reached by a message port. `servePort` is the other end.
 */
export class PortStream implements ByteStream {
  readonly #port: MessagePort;
  readonly #onFinished: () => void;
  readonly #received = new ByteQueue();
  readonly #reads: Waiting<Uint8Array | null>[] = [];
  readonly #writes: Waiting<void>[] = [];
  /** The number of bytes that were sent to the other thread, and that it has not passed on. */
  #underWay = 0;
  #hasEnded = false;
  #hasRemoteEnded = false;
  #isFinished = false;
  #error: Error | null = null;

  /** `onFinished` is called when the other thread is not needed any more. */
  constructor(port: MessagePort, onFinished: () => void = () => {}) {
    this.#port = port;
    this.#onFinished = onFinished;
    port.onmessage = ({ data }: MessageEvent<PortMessage>) => this.#take(data);
  }

  read(): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#reads.push({ resolve, reject });
      this.#deliver();
      this.#finishIfOver();
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      this.#requireWritable();
      const chunk = ownBytes(bytes.subarray(at, at + CHUNK_BYTES));
      this.#underWay += chunk.length;
      send(this.#port, { is: "bytes", bytes: chunk });
      if (this.#underWay >= WINDOW_BYTES) await this.#untilRoom();
    }
  }

  // deno-lint-ignore require-await -- If the connection is broken, it must reject, not throw.
  async end(): Promise<void> {
    if (this.#hasEnded) return;
    if (this.#error !== null) throw this.#error;
    this.#hasEnded = true;
    send(this.#port, { is: "end" });
    this.#finishIfOver();
  }

  close(): void {
    this.#leave("close");
  }

  abort(): void {
    this.#leave("abort");
  }

  /** For the engine: the other thread has ended, and cannot say so itself. */
  lose(): void {
    if (!this.#isFinished) this.#fail(new TcpError("ECONNABORTED"));
  }

  #leave(is: "close" | "abort"): void {
    if (this.#error === null) this.#fail(new TcpError("ECONNABORTED"), is);
  }

  #requireWritable(): void {
    if (this.#error !== null) throw this.#error;
    if (this.#hasEnded) throw new TcpError("EPIPE");
  }

  #untilRoom(): Promise<void> {
    return new Promise((resolve, reject) => this.#writes.push({ resolve, reject }));
  }

  #take(message: PortMessage): void {
    if (this.#error !== null) return;
    if (message.is === "bytes") this.#received.push(message.bytes);
    else if (message.is === "end") this.#hasRemoteEnded = true;
    else if (message.is === "failed") return this.#fail(fromSentError(message.error));
    else if (message.is === "consumed") {
      this.#underWay -= message.length;
      if (this.#underWay < WINDOW_BYTES) {
        for (const { resolve } of this.#writes.splice(0)) resolve();
      }
    }
    this.#deliver();
    this.#finishIfOver();
  }

  #deliver(): void {
    while (this.#reads.length > 0) {
      if (this.#error !== null) this.#reads.shift()!.reject(this.#error);
      else if (this.#received.length > 0) {
        const bytes = this.#received.take(CHUNK_BYTES);
        send(this.#port, { is: "consumed", length: bytes.length });
        this.#reads.shift()!.resolve(bytes);
      } else if (this.#hasRemoteEnded) this.#reads.shift()!.resolve(null);
      else return;
    }
  }

  /**
   * Closes the port once the connection is over. Deno keeps a port that is not closed for ever,
   * even if its other end is closed.
   */
  #finishIfOver(): void {
    const isRead = this.#hasRemoteEnded && this.#received.length === 0;
    if (isRead && this.#hasEnded && this.#writes.length === 0) this.#finish("close");
  }

  #finish(is: "close" | "abort"): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    send(this.#port, { is });
    this.#port.close();
    this.#onFinished();
  }

  #fail(error: Error, is: "close" | "abort" = "close"): void {
    this.#error = error;
    this.#received.clear();
    for (const { reject } of this.#writes.splice(0)) reject(error);
    this.#deliver();
    this.#finish(is);
  }
}

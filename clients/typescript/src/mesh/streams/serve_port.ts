import type { ByteStream } from "../byte_stream.ts";
import { ownBytes, type PortMessage, send, WINDOW_BYTES } from "./port_messages.ts";
import { toSentError } from "./thread_errors.ts";

/** Gives a connection of this thread to another one, which has a `PortStream` at the other end. */
export function servePort(port: MessagePort, stream: ByteStream): void {
  const served = new ServedStream(port, stream);
  port.onmessage = ({ data }: MessageEvent<PortMessage>) => served.take(data);
  void served.pump();
}

class ServedStream {
  readonly #port: MessagePort;
  readonly #stream: ByteStream;
  /** Bytes that were sent, and that the other thread has not consumed. */
  #underWay = 0;
  #wake: () => void = () => {};
  #hasEnded = false;
  #hasRemoteEnded = false;
  #isOver = false;
  /** Writes and the end follow each other in their order. */
  #written: Promise<void> = Promise.resolve();

  constructor(port: MessagePort, stream: ByteStream) {
    this.#port = port;
    this.#stream = stream;
  }

  /** Reads as long as the other thread consumes. */
  async pump(): Promise<void> {
    try {
      while (!this.#isOver) {
        if (this.#underWay >= WINDOW_BYTES) {
          await new Promise<void>((resolve) => this.#wake = resolve);
          continue;
        }
        const bytes = await this.#stream.read();
        if (this.#isOver) return;
        if (bytes === null) break;
        this.#underWay += bytes.length;
        send(this.#port, { is: "bytes", bytes: ownBytes(bytes) });
      }
      this.#hasRemoteEnded = true;
      if (!this.#isOver) send(this.#port, { is: "end" });
      this.#finishIfOver();
    } catch (error) {
      this.#fail(error);
    }
  }

  take(message: PortMessage): void {
    if (this.#isOver) return;
    if (message.is === "consumed") {
      this.#underWay -= message.length;
      this.#wake();
    } else if (message.is === "bytes") this.#write(message.bytes);
    else if (message.is === "end") this.#end();
    else if (message.is === "abort") {
      this.#stream.abort();
      this.#stop();
    } else if (message.is === "close") {
      // After what was written before it.
      void this.#written.finally(() => this.#stream.close());
      this.#stop();
    }
  }

  #write(bytes: Uint8Array): void {
    this.#after(async () => {
      await this.#stream.write(bytes);
      if (!this.#isOver) send(this.#port, { is: "consumed", length: bytes.length });
    });
  }

  #end(): void {
    this.#after(async () => {
      await this.#stream.end();
      this.#hasEnded = true;
      this.#finishIfOver();
    });
  }

  #after(step: () => Promise<void>): void {
    this.#written = this.#written.then(step).catch((error) => this.#fail(error));
  }

  /** The port stays open: the other thread may not have read everything. It closes the port. */
  #finishIfOver(): void {
    if (this.#hasEnded && this.#hasRemoteEnded) this.#stream.close();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    send(this.#port, { is: "failed", error: toSentError(error) });
    // The other thread closes the port when it has this message.
    this.#isOver = true;
    this.#wake();
  }

  #stop(): void {
    this.#isOver = true;
    this.#wake();
    this.#port.close();
  }
}

import type { ByteStream } from "../byte_stream.ts";
import { ownBytes, type PortMessage, send, WINDOW_BYTES } from "./port_messages.ts";
import { toSentError } from "./thread_errors.ts";

/** Serves a connection of this thread to another thread, which has a `PortStream` for it. */
export function servePort(port: MessagePort, stream: ByteStream): void {
  const served = new ServedStream(port, stream);
  port.onmessage = ({ data }: MessageEvent<PortMessage>) => served.take(data);
  void served.pump();
}

class ServedStream {
  readonly #port: MessagePort;
  readonly #stream: ByteStream;
  /** The number of bytes that were sent, and that the other thread has not consumed. */
  #underWay = 0;
  #wake: () => void = () => {};
  #hasEnded = false;
  #hasRemoteEnded = false;
  #isOver = false;
  #isClosed = false;
  /** The last write or end that was requested. The next one waits for it, to keep their order. */
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
    // The other thread's last message. It also comes after a failure.
    if (message.is === "close" || message.is === "abort") return this.#leave(message.is);
    if (this.#isOver) return;
    if (message.is === "consumed") {
      this.#underWay -= message.length;
      this.#wake();
    } else if (message.is === "bytes") this.#write(message.bytes);
    else if (message.is === "end") this.#end();
  }

  #leave(is: "close" | "abort"): void {
    if (is === "abort") this.#stream.abort();
    // Close after the writes that came before.
    else void this.#written.finally(() => this.#close());
    this.#isOver = true;
    this.#wake();
    this.#port.close();
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

  /** The port stays open until the other thread has read everything, and says `close`. */
  #finishIfOver(): void {
    if (this.#hasEnded && this.#hasRemoteEnded) this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.close();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    // The other thread answers this with `close`.
    send(this.#port, { is: "failed", error: toSentError(error) });
    this.#isOver = true;
    this.#wake();
  }
}

import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

/** Reads the beginning of a stream, by numbers of bytes, and leaves the rest to another reader. */
export class ByteReader {
  readonly #stream: Duplex;
  #wake: () => void = () => {};
  readonly #onChange = () => this.#wake();

  constructor(stream: Duplex) {
    this.#stream = stream;
    for (const event of ["readable", "end", "close"]) stream.on(event, this.#onChange);
  }

  /** Rejects if the stream ends earlier. */
  async read(length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    while (true) {
      const bytes: Buffer | null = this.#stream.read(length);
      if (bytes !== null && bytes.length === length) return bytes;
      if (this.#stream.readableEnded || this.#stream.destroyed || bytes !== null) {
        throw new Error("The stream has ended.");
      }
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** Call it before another reader takes over the stream. */
  release(): void {
    for (const event of ["readable", "end", "close"]) this.#stream.off(event, this.#onChange);
  }
}

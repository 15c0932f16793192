import type { ByteStream } from "../../transfer/source.ts";
import { iterate } from "../../transfer/source.ts";

/** Reads a stream by numbers of bytes. Buffers one chunk of the stream. */
export class ByteReader {
  readonly #chunks: AsyncGenerator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(stream: ByteStream) {
    this.#chunks = iterate(stream);
  }

  /** The next `count` bytes in pieces as they arrive; fewer at the end of the stream. */
  async *pieces(count: number): AsyncGenerator<Uint8Array, void, undefined> {
    let left = count;
    while (left > 0) {
      if (this.#rest.byteLength === 0 && !await this.#fill()) return;
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.byteLength);
      left -= piece.byteLength;
      yield piece;
    }
  }

  /** The next `count` bytes at once; null if the stream ends earlier. */
  async read(count: number): Promise<Uint8Array | null> {
    const bytes = new Uint8Array(count);
    let filled = 0;
    for await (const piece of this.pieces(count)) {
      bytes.set(piece, filled);
      filled += piece.byteLength;
    }
    return filled === count ? bytes : null;
  }

  /** Releases the stream. */
  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }

  async #fill(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#rest = value;
    return true;
  }
}

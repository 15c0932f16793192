import type { AgentError } from "../errors/agent_error.ts";
import { createSha256, type Sha256 } from "../platform/sha256.ts";
import { type OpenedSource, sizeMismatch } from "./source.ts";

/**
 * Hashes and counts the bytes of a source while they are sent. The sender may stop before the end;
 * `digest` reads the rest.
 */
export class HashedBytes {
  readonly #size: number;
  readonly #bytes: AsyncIterator<Uint8Array>;
  readonly #hash: Sha256;
  readonly #onBytes: (passed: number) => void;
  #passed = 0;
  #digest: string | null = null;
  /** The current read. The next one waits for it. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    size: number,
    bytes: AsyncIterator<Uint8Array>,
    hash: Sha256,
    onBytes: (passed: number) => void,
  ) {
    this.#size = size;
    this.#bytes = bytes;
    this.#hash = hash;
    this.#onBytes = onBytes;
  }

  static async of(
    source: OpenedSource,
    onBytes: (passed: number) => void = () => {},
  ): Promise<HashedBytes> {
    return new HashedBytes(
      source.size,
      await source.read(),
      await createSha256(),
      onBytes,
    );
  }

  /** A stream for a request's body. The source is read only as fast as the stream is sent. */
  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const bytes = await this.#next();
        if (bytes === null) controller.close();
        else controller.enqueue(bytes);
      },
    }, { highWaterMark: 0 });
  }

  /** Whether everything was read. */
  get isComplete(): boolean {
    return this.#digest !== null;
  }

  /** Reads the rest, and returns the SHA-256 of all bytes. Throws `source_size_mismatch`. */
  async digest(): Promise<string> {
    while (this.#digest === null) await this.#next();
    return this.#digest;
  }

  /** The error that reading failed with; null if it did not fail. */
  async failure(): Promise<unknown> {
    return await this.#turn.then(() => null, (error) => error);
  }

  /** Releases the source. */
  async close(): Promise<void> {
    await this.#turn.catch(() => {});
    await this.#bytes.return?.();
  }

  /** The next bytes; null at the end. */
  #next(): Promise<Uint8Array | null> {
    const next = this.#turn.then(() => this.#read());
    this.#turn = next;
    next.catch(() => {});
    return next;
  }

  async #read(): Promise<Uint8Array | null> {
    if (this.#digest !== null) return null;
    const { done, value } = await this.#bytes.next();
    if (done) {
      if (this.#passed !== this.#size) throw this.#mismatch();
      this.#digest = this.#hash.digest();
      return null;
    }
    this.#passed += value.byteLength;
    if (this.#passed > this.#size) throw this.#mismatch();
    this.#hash.update(value);
    this.#onBytes(this.#passed);
    return value;
  }

  #mismatch(): AgentError {
    return sizeMismatch({ expected: this.#size, actual: this.#passed });
  }
}

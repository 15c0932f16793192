import { TcpError } from "../../ip/tcp_error.ts";
import type { ByteStream } from "../byte_stream.ts";

/** A connection that ends if its rule is revoked. Its methods then reject with ECONNRESET. */
export class RuledStream implements ByteStream {
  readonly #stream: ByteStream;
  #isRevoked = false;

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  /** Call it before the connection is reset. */
  revoke(): void {
    this.#isRevoked = true;
  }

  read(): Promise<Uint8Array | null> {
    return this.#stream.read().catch((error) => this.#fail(error));
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#stream.write(bytes).catch((error) => this.#fail(error));
  }

  end(): Promise<void> {
    return this.#stream.end().catch((error) => this.#fail(error));
  }

  close(): void {
    this.#stream.close();
  }

  abort(): void {
    this.#stream.abort();
  }

  #fail(error: unknown): never {
    throw this.#isRevoked ? new TcpError("ECONNRESET", { cause: error }) : error;
  }
}

import { TcpError } from "../../ip/tcp_error.ts";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import type { ByteStream } from "../byte_stream.ts";
import type { OpenFlow } from "../flows/flow_log.ts";
import { reasonOfEnd } from "./flow_watch.ts";

/**
 * A connection that ends if its rule is revoked. Its methods then reject with ECONNRESET. Its bytes
 * and its end are told to a flow log.
 */
export class RuledStream implements ByteStream {
  readonly #stream: TcpConnection;
  readonly #flow: OpenFlow;
  #isRevoked = false;

  constructor(stream: TcpConnection, flow: OpenFlow) {
    this.#stream = stream;
    this.#flow = flow;
    void stream.closed.then((error) => {
      if (error !== null) flow.ended("reset", reasonOfEnd(error, this.#isRevoked));
      else if (stream.isCut) flow.ended("reset", "by_this_side");
      else flow.ended("clean", null);
    });
  }

  /** Call it before the connection is reset. */
  revoke(): void {
    this.#isRevoked = true;
  }

  read(): Promise<Uint8Array | null> {
    // Count at once: the last bytes and the end may come together.
    return this.#stream.read().then((bytes) => {
      this.#flow.received(bytes?.length ?? 0);
      return bytes;
    }, (error) => this.#fail(error));
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#stream.write(bytes).catch((error) => this.#fail(error));
    this.#flow.sent(bytes.length);
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

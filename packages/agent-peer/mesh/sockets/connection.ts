import type { ByteStream, RemotePort } from "../byte_stream.ts";
import type { From } from "../from.ts";

/** A connection, and what its two ends are. */
export interface Connection {
  readonly stream: ByteStream;
  readonly local: RemotePort;
  readonly remote: From;
}

import type { RemotePort } from "./byte_stream.ts";

/** The other side of a connection, or the sender of a datagram. */
export interface From extends RemotePort {
  readonly agentId: string;
  readonly name: string;
}

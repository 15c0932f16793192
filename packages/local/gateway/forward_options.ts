import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Agent } from "undici";

/** Keep-alive connections to the upstreams. */
export type Connections = Agent;

export interface ForwardOptions {
  /** The upstream's port on loopback. 0: it has not started yet. */
  readonly port: number;
  /** Path and query for the upstream. */
  readonly path: string;
  /** Default: the request's own. */
  readonly headers?: IncomingHttpHeaders;
  /** For requests with a short body or none. */
  readonly connections: Connections;
  /** Answers when the upstream gives no answer. */
  readonly whenDown: (request: IncomingMessage, response: ServerResponse) => void;
}

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from "node:http";
import { forwardedHeaders, withoutHopByHop } from "./headers.ts";
import { type Connections, forwardShort, isShort } from "./short_request.ts";

export interface ForwardOptions {
  /** The upstream's port on loopback. */
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

/**
 * Passes a request on and its answer back, byte for byte. When one side goes away, the connection
 * to the other is closed.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): void {
  if (isShort(request)) forwardShort(request, response, options);
  else forwardStream(request, response, options);
}

/** Passes on a body of any length as its bytes arrive, on a connection of its own. */
function forwardStream(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): void {
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const upstream = sendRequest({
    host: "127.0.0.1",
    port: options.port,
    method: request.method,
    path: options.path,
    headers: {
      ...forwardedHeaders(request, options.headers ?? request.headers),
      // A body without a length stays one.
      ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
    },
    agent: false,
  });
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers));
    answer.pipe(response);
    answer.on("error", () => response.destroy());
    answer.on("end", () => {
      if (request.complete) return;
      takeRest();
      upstream.destroy();
    });
  });
  upstream.on("error", () => {
    takeRest();
    if (response.headersSent) response.destroy();
    else options.whenDown(request, response);
  });
  response.on("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);

  /** Some senders read an answer that comes early only when they have sent the whole body. */
  function takeRest(): void {
    request.unpipe(upstream);
    request.resume();
  }
}

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from "node:http";

export interface ForwardOptions {
  /** The upstream's port on loopback. */
  readonly port: number;
  /** Path and query for the upstream. */
  readonly path: string;
  /** Default: the request's own. */
  readonly headers?: IncomingHttpHeaders;
  /** Answers when the upstream gives no answer. */
  readonly whenDown: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Headers of one connection only (RFC 9110, 7.6.1): they are never passed on. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/**
 * Passes a request on and its answer back, byte for byte, as the bytes arrive. When one side goes
 * away, the connection to the other is closed.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): void {
  const upstream = sendRequest({
    host: "127.0.0.1",
    port: options.port,
    method: request.method,
    path: options.path,
    headers: requestHeaders(request, options.headers ?? request.headers),
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

function requestHeaders(
  request: IncomingMessage,
  headers: IncomingHttpHeaders,
): IncomingHttpHeaders {
  const host = request.headers.host ?? "127.0.0.1";
  const chunked = request.headers["transfer-encoding"] !== undefined;
  return {
    ...withoutHopByHop(headers),
    // A body without a length stays one.
    ...(chunked ? { "transfer-encoding": "chunked" } : {}),
    "x-forwarded-host": host,
    "x-forwarded-port": /:([0-9]+)$/.exec(host)?.[1] ?? "80",
    "x-forwarded-proto": "http",
    "x-forwarded-for": request.socket.remoteAddress ?? "127.0.0.1",
  };
}

function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").toLowerCase().split(",").map((name) => name.trim());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !named.includes(name)),
  );
}

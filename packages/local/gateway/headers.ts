import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** Headers of one connection only (RFC 9110, 7.6.1): they are never passed on. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers for the upstream: `headers`, and where the request was sent to. */
export function forwardedHeaders(
  request: IncomingMessage,
  headers: IncomingHttpHeaders,
): IncomingHttpHeaders {
  const host = request.headers.host ?? "127.0.0.1";
  return {
    ...withoutHopByHop(headers),
    "x-forwarded-host": host,
    "x-forwarded-port": /:([0-9]+)$/.exec(host)?.[1] ?? "80",
    "x-forwarded-proto": "http",
    "x-forwarded-for": request.socket.remoteAddress ?? "127.0.0.1",
  };
}

export function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").toLowerCase().split(",").map((name) => name.trim());
  const passedOn: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!HOP_BY_HOP.has(name) && !named.includes(name)) passedOn[name] = value;
  }
  return passedOn;
}

/** A server of requests as the web has them: HTTP/1.1 by Node's own server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { From } from "../from.ts";
import type { MeshNetSocket } from "../sockets/net_socket.ts";
import { type HttpModules, httpModules } from "./http_modules.ts";

/** Who sent the request. */
export type ServeInfo = From;

export type ServeHandler = (
  request: Request,
  info: ServeInfo,
) => Response | Promise<Response>;

export interface ServeOptions {
  /**
   * Called with what a handler threw, and with what its body threw. The caller of the request does
   * not see it. Default: `console.error`.
   */
  readonly onError?: (error: unknown) => void;
}

/** Takes connections, as the function that listens gives them. */
export type TakeConnection = (socket: MeshNetSocket, from: From) => void;

/** Answers the requests of connections. Rejects on platforms without Node's server. */
export async function connectionServer(
  handler: ServeHandler,
  { onError = console.error }: ServeOptions,
): Promise<TakeConnection> {
  const modules = await httpModules();
  const callers = new WeakMap<object, From>();
  const server = modules.http.createServer((incoming, outgoing) => {
    const info = callers.get(incoming.socket)!;
    const gone = new AbortController();
    // Deno's server does not read a second request from a connection that is not one of its own.
    if ("Deno" in globalThis) outgoing.shouldKeepAlive = false;
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) {
        gone.abort(new DOMException("The caller left.", "AbortError"));
      }
    });
    const exchange = { incoming, outgoing, info, modules, signal: gone.signal };
    void answer(exchange, handler).catch((error) => {
      // What a handler throws because its caller has left is no error of the program.
      if (!gone.signal.aborted || error instanceof BodyError) {
        onError(error instanceof BodyError ? error.cause : error);
      }
      refuse(outgoing, 500);
    });
  });
  return (socket, from) => {
    callers.set(socket, from);
    // A connection that breaks is no error of the program: its requests are aborted.
    socket.on("error", () => {});
    server.emit("connection", socket);
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly info: ServeInfo;
  readonly modules: HttpModules;
  /** Aborted when the caller leaves before the answer is sent. */
  readonly signal: AbortSignal;
}

/** The body of an answer has failed by itself. This ends the connection, too. */
class BodyError extends Error {}

/** Rejects with what the handler throws, or with BodyError. */
async function answer(
  { incoming, outgoing, info, modules, signal }: Exchange,
  handler: ServeHandler,
): Promise<void> {
  const request = requestOf(incoming, { modules, signal });
  if (request === null) return refuse(outgoing, 400);
  const response = await handler(request, info);
  if (signal.aborted) return void await response.body?.cancel();
  outgoing.writeHead(response.status, response.statusText || undefined, headersOf(response));
  if (response.body === null || incoming.method === "HEAD") {
    await response.body?.cancel();
    return void outgoing.end();
  }
  const body = modules.stream.Readable.fromWeb(response.body as never);
  await new Promise<void>((resolve, reject) => {
    body.once("error", (cause) => {
      // If the caller leaves, the body is destroyed after the answer.
      if (!outgoing.destroyed) reject(new BodyError("The body failed.", { cause }));
    });
    modules.stream.pipeline(body, outgoing, () => resolve());
    // Otherwise they would leave with the first bytes of the body.
    outgoing.flushHeaders();
  });
}

/** Null if the request has no valid URL, or a method that a `Request` cannot have. */
function requestOf(
  incoming: IncomingMessage,
  { modules, signal }: { readonly modules: HttpModules; readonly signal: AbortSignal },
): Request | null {
  const { method = "GET", url: target = "/", rawHeaders } = incoming;
  const url = target.startsWith("/") ? `http://${incoming.headers.host ?? ""}${target}` : target;
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([rawHeaders[at]!, rawHeaders[at + 1]!]);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  try {
    return new Request(url, {
      method,
      headers,
      signal,
      ...(hasBody && { body: modules.stream.Readable.toWeb(incoming), duplex: "half" }),
    } as RequestInit);
  } catch {
    return null;
  }
}

function headersOf({ headers }: Response): Record<string, string | string[]> {
  const cookies = headers.getSetCookie();
  return {
    ...Object.fromEntries(headers),
    ...(cookies.length > 0 && { "set-cookie": cookies }),
  };
}

/** Answers without details. An answer that has begun cannot be replaced: it is cut off. */
function refuse(outgoing: ServerResponse, status: 400 | 500): void {
  if (outgoing.headersSent) return void outgoing.destroy();
  const text = status === 400 ? "Bad Request" : "Internal Server Error";
  outgoing.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(text);
}

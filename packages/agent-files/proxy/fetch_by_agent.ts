import { Buffer } from "node:buffer";
import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { credentialOf } from "./credential.ts";

/** How a URL is reached. */
export interface Route {
  readonly agent: http.Agent;
  /** A proxy that forwards plain HTTP. Requests to it contain the whole URL. */
  readonly forwarder?: URL;
}

export type RouteOf = (url: URL) => Route;

export interface FetchOptions {
  /** The certificate authorities to trust. Default: Node's. */
  readonly ca?: string[] | undefined;
}

const REDIRECTS = [301, 302, 303, 307, 308];
const MOST_REDIRECTS = 20;
/** Status codes for which a Response must not have a body. */
const WITHOUT_BODY = [204, 205, 304];
/** Timeout for connecting, through a proxy or directly. */
const CONNECT_MILLISECONDS = 30_000;

/**
 * A `fetch` on top of `node:http`: the built-in one takes no agent, and so no proxy. It does only
 * what the clients here need: it asks for no compression, and follows redirects of GET only.
 */
export function fetchByAgent(
  routeOf: RouteOf,
  options: FetchOptions = {},
): typeof fetch {
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : input);
    for (let redirects = 0;; redirects++) {
      const message = await exchange(url, init, {
        ...options,
        ...routeOf(url),
      });
      const { location } = message.headers;
      const isRedirect = REDIRECTS.includes(message.statusCode!) &&
        location !== undefined;
      if (!isRedirect || init.redirect === "manual") {
        return answerOf(message, init.signal);
      }
      message.destroy();
      const isFollowed = init.redirect !== "error" &&
        (init.method ?? "GET") === "GET";
      if (!isFollowed || redirects === MOST_REDIRECTS) {
        throw new TypeError("unexpected redirect");
      }
      const next = new URL(location, url);
      // Never send a credential to another origin.
      if (next.origin !== url.origin) init = { ...init, headers: {} };
      url = next;
    }
  };
}

/** Sends a request. Resolves to the head of the answer, whose body is not read yet. */
function exchange(
  url: URL,
  { method = "GET", headers, body, signal }: RequestInit,
  { forwarder, ...options }: FetchOptions & Route,
): Promise<http.IncomingMessage> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const sentTo = forwarder ?? url;
    const request = (sentTo.protocol === "https:" ? https : http).request(
      sentTo,
      {
        ...options,
        method,
        ...(forwarder &&
          { path: url.origin + url.pathname + url.search, auth: null }),
        headers: {
          accept: "*/*",
          ...Object.fromEntries(new Headers(headers)),
          ...(forwarder && { host: url.host, ...authorization(forwarder) }),
        },
        ...(signal && { signal }),
      },
    );
    const late = setTimeout(() => {
      request.destroy(
        Object.assign(new Error("timed out"), { code: "ETIMEDOUT" }),
      );
    }, CONNECT_MILLISECONDS);
    request.on("socket", (socket) => {
      if (!socket.connecting) clearTimeout(late);
      else socket.once("connect", () => clearTimeout(late));
    });
    // The proxy's answer to CONNECT.
    request.on("proxyConnect", ({ statusCode }: { statusCode: number }) => {
      if (statusCode === 200) return;
      request.destroy(new Error(`Proxy response (${statusCode}) to CONNECT`));
    });
    request.on("response", resolve);
    let broken: unknown;
    request.on(
      "error",
      (error) => reject(signal?.aborted ? signal.reason : broken ?? error),
    );
    request.on("close", () => clearTimeout(late));
    // If the body fails, the request only reports that it was destroyed. Keep the body's error.
    send(request, body, (error) => broken = error).catch((error) => request.destroy(error));
  });
}

function authorization(forwarder: URL): Record<string, string> {
  const credential = credentialOf(forwarder);
  if (credential === null) return {};
  const text = `${credential.name}:${credential.password}`;
  return { "proxy-authorization": `Basic ${Buffer.from(text).toString("base64")}` };
}

/** Settles when the request has the whole body. The request reports its own errors as events. */
async function send(
  request: http.ClientRequest,
  body: RequestInit["body"],
  onBroken: (error: unknown) => void,
): Promise<void> {
  if (body === undefined || body === null) return void request.end();
  if (typeof body === "string" || body instanceof Uint8Array) {
    return void request.end(body);
  }
  if (body instanceof Blob) request.setHeader("content-length", body.size);
  const stream = body instanceof Blob ? body.stream() : body;
  await pipeline(
    Readable.from(bytesOf(stream as AsyncIterable<Uint8Array>, onBroken)),
    request,
  );
}

async function* bytesOf(
  stream: AsyncIterable<Uint8Array>,
  onBroken: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    onBroken(error);
    throw error;
  }
}

function answerOf(
  message: http.IncomingMessage,
  signal: AbortSignal | null | undefined,
): Response {
  const headers = new Headers();
  for (let index = 0; index < message.rawHeaders.length; index += 2) {
    headers.append(message.rawHeaders[index]!, message.rawHeaders[index + 1]!);
  }
  const status = message.statusCode!;
  if (WITHOUT_BODY.includes(status)) {
    message.resume();
    return new Response(null, { status, headers });
  }
  const chunks: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(signal?.aborted ? signal.reason : error);
      }
    },
    cancel: () => void message.destroy(),
  }, { highWaterMark: 0 });
  return new Response(stream as BodyInit, { status, headers });
}

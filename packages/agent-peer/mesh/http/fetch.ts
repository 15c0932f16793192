/**
 * `fetch` over connections of the mesh: HTTP/1.1 by Node's own client, one connection per request.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type HttpModules, httpModules } from "./http_modules.ts";
import { nextRequest } from "./redirects.ts";
import type { Sent } from "./sent.ts";

export type Connect = (
  to: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
) => Promise<Duplex>;

/**
 * Like the platform's `fetch`. Throws a TypeError for an invalid request, and connection errors
 * unchanged.
 */
export async function meshFetch(
  connect: Connect,
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const request = new Request(input, init);
  const modules = await httpModules();
  let sent: Sent = {
    url: new URL(request.url),
    method: request.method,
    headers: new Headers(request.headers),
    body: await bodyOf(request, init.body),
  };
  const { signal, redirect } = request;
  for (let redirects = 0; true; redirects++) {
    signal.throwIfAborted();
    const message = await send(sent, { modules, connect, signal });
    let response: Response | null = null;
    try {
      const next = redirect === "manual" ? null : nextRequest(sent, message);
      if (next === null) return response = responseOf(message, { modules, sent, redirects });
      if (redirect === "error") throw new TypeError("The answer is a redirect.");
      if (redirects === 20) throw new TypeError("There are more than 20 redirects.");
      sent = next;
    } finally {
      if (response === null) message.destroy();
    }
  }
}

/** The body as bytes, unless it is a stream of unknown length. */
async function bodyOf(
  request: Request,
  given: BodyInit | null | undefined,
): Promise<Sent["body"]> {
  if (request.body === null) return null;
  if (given instanceof ReadableStream) return request.body;
  return new Uint8Array(await request.arrayBuffer());
}

async function send(
  { url, method, headers, body }: Sent,
  { modules, connect, signal }: {
    readonly modules: HttpModules;
    readonly connect: Connect;
    readonly signal: AbortSignal;
  },
): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  if (!isSecure && url.protocol !== "http:") {
    throw new TypeError(`Requests through the mesh must be http: or https:, not ${url.protocol}`);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port) || (isSecure ? 443 : 80);
  const connection = await connect({ host, port, signal });
  const socket = isSecure
    ? modules.tls.connect({ socket: connection, servername: host })
    : connection;
  return await new Promise((resolve, reject) => {
    const request = modules.http.request({
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        accept: "*/*",
        ...Object.fromEntries(headers),
        ...framingOf(body),
      },
      createConnection: () => socket,
      signal,
    });
    let answer: IncomingMessage | null = null;
    request.on("response", (message) => {
      answer = message;
      resolve(message);
    });
    request.on("upgrade", () => {
      socket.destroy();
      reject(new TypeError("The answer changes the protocol."));
    });
    request.on("error", (error) => {
      reject(signal.aborted ? signal.reason : error);
      // Node takes an error for the end of an answer that ends with its connection.
      if (answer?.complete === false) answer.destroy(error);
    });
    if (!(body instanceof ReadableStream)) request.end(body);
    else {
      modules.stream.pipeline(
        modules.stream.Readable.fromWeb(body as never),
        request,
        (error) => error && reject(error),
      );
    }
  });
}

/** Headers that frame the body. Node's client does not add them to every method's request. */
function framingOf(body: Sent["body"]): Record<string, string> {
  if (body === null) return {};
  return body instanceof Uint8Array
    ? { "content-length": String(body.length) }
    : { "transfer-encoding": "chunked" };
}

const WITHOUT_BODY: readonly number[] = [101, 204, 205, 304];

function responseOf(
  message: IncomingMessage,
  { modules, sent, redirects }: {
    readonly modules: HttpModules;
    readonly sent: Sent;
    readonly redirects: number;
  },
): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  }
  const hasBody = sent.method !== "HEAD" && !WITHOUT_BODY.includes(status);
  if (!hasBody) message.resume();
  const body = hasBody
    ? modules.stream.Readable.toWeb(message) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>
    : null;
  const response = new Response(body, { status, statusText, headers });
  Object.defineProperties(response, {
    url: { value: sent.url.href },
    redirected: { value: redirects > 0 },
  });
  return response;
}

/** An HTTP proxy (RFC 9110, 7.6 and 9.3.6): CONNECT, and requests for `http:` URLs. */
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { basicCredentials, isRight } from "./token.ts";
import { type Dial, type DialFailure, failureOf, goneSignal, reset, splice } from "./tunnelling.ts";
import { upgrade, type UpgradeClient } from "./upgrade.ts";

/** The error is a type of RFC 9209, for the header Proxy-Status. */
type Refusal = readonly [status: number, sentence: string, error?: string | undefined];

const REFUSALS: Readonly<Record<DialFailure, Refusal>> = {
  not_allowed: [403, "No active rule allows this connection.", "http_request_denied"],
  unknown_host: [502, "No visible peer of the mesh is called that.", "dns_error"],
  refused: [502, "Nothing listens on that port of the peer.", "connection_refused"],
  timed_out: [504, "The peer does not answer.", "connection_timeout"],
  failed: [502, "The connection to the peer failed.", "destination_unavailable"],
};

const UNREADABLE = [502, "The peer's answer is not valid HTTP."] as const;

/**
 * The refusal for an error. After a timeout, the error's own message says why, if that is known.
 */
function refusalOf(error: unknown): Refusal {
  const failure = failureOf(error);
  const [status, sentence, type] = REFUSALS[failure];
  return [status, failure === "timed_out" ? (error as Error).message : sentence, type];
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  407: "Proxy Authentication Required",
  502: "Bad Gateway",
  504: "Gateway Timeout",
};

/** Headers of one connection: they are not passed on (RFC 9110, 7.6.1). */
const OF_ONE_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
];

/**
 * Headers that say where a body ends. Requests keep them even if `connection` names them: without
 * them, Node's client does not mark the end of a GET, DELETE or OPTIONS request's body.
 */
const FRAMING = ["content-length", "transfer-encoding"];

interface Options {
  readonly dial: Dial;
  /** Null if only this user can connect. */
  readonly token: string | null;
}

export function httpProxyServer(dial: Dial, token: string | null): Server {
  const options = { dial, token };
  const unanswered = new WeakMap<Duplex, number>();
  const server = createServer((request, response) => {
    const client = request.socket;
    unanswered.set(client, (unanswered.get(client) ?? 0) + 1);
    response.once("close", () => unanswered.set(client, unanswered.get(client)! - 1));
    forward(request, response, options).catch(() => breakOff(response));
  });
  // Such a request takes the connection over at once. Behind a request that is not yet answered,
  // its answer would come first.
  const isFree = (client: Duplex) => !unanswered.get(client);
  server.on("connect", (request, client, head) => {
    if (!isFree(client)) return reset(client);
    tunnel(request, { client, head }, options).catch(() => client.destroy());
  });
  server.on("upgrade", (request, client, head) => {
    if (!isFree(client)) return reset(client);
    forwardUpgrade(request, { client, head }, options).catch(() => reset(client));
  });
  return server;
}

function isAllowed({ headers }: IncomingMessage, { token }: Options): boolean {
  if (token === null) return true;
  const given = basicCredentials(headers["proxy-authorization"]);
  return given !== null && isRight(given, token);
}

async function tunnel(
  request: IncomingMessage,
  { client, head }: { readonly client: Duplex; readonly head: Uint8Array },
  options: Options,
): Promise<void> {
  client.on("error", () => {});
  if (!isAllowed(request, options)) return refuseTunnel(client, [407, "Send the proxy's token."]);
  const target = parseAuthority(request.url ?? "");
  if (target === null) return refuseTunnel(client, [400, "The target is not <host>:<port>."]);
  let connection: Duplex;
  try {
    connection = await options.dial({ ...target, signal: goneSignal(client) });
  } catch (error) {
    return refuseTunnel(client, refusalOf(error));
  }
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  if (head.length > 0) connection.write(head);
  splice(client, connection);
}

function refuseTunnel(client: Duplex, [status, sentence, error]: Refusal): void {
  // Throw away what the client still sends: only then is its end noticed.
  client.resume();
  const challenge = status === 407 ? `${CHALLENGE}\r\n` : "";
  const cause = error === undefined ? "" : `proxy-status: ${proxyStatus(error)}\r\n`;
  client.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\n${challenge}${cause}content-type: text/plain\r\n` +
      `content-length: ${sentence.length + 1}\r\nconnection: close\r\n\r\n${sentence}\n`,
  );
}

function proxyStatus(error: string): string {
  return `agentfiles; error=${error}`;
}

const CHALLENGE = 'proxy-authenticate: Basic realm="mesh"';

/** Forwards a request that asks for another protocol, such as WebSocket. */
async function forwardUpgrade(
  request: IncomingMessage,
  { client, head }: UpgradeClient,
  options: Options,
): Promise<void> {
  client.on("error", () => {});
  if (!isAllowed(request, options)) return refuseTunnel(client, [407, "Send the proxy's token."]);
  const target = parseTarget(request);
  if (target === null) return refuseTunnel(client, [400, "The target is not an http: URL."]);
  if (FRAMING.some((name) => name in request.headers)) {
    return refuseTunnel(client, [400, "A request with a body cannot ask for another protocol."]);
  }
  let connection: Duplex;
  try {
    connection = await options.dial({ ...target.place, signal: goneSignal(client) });
  } catch (error) {
    return refuseTunnel(client, refusalOf(error));
  }
  connection.on("error", () => {});
  const headers = passedHeaders(request);
  const refuse = () => refuseTunnel(client, UNREADABLE);
  upgrade({ request, url: target.url, headers, connection, refuse }, { client, head });
}

/** The http: URL of a request, and its place in the mesh. Programs also write ws:. */
function parseTarget({ url: text = "" }: IncomingMessage) {
  const url = URL.canParse(text) ? new URL(text.replace(/^ws:/i, "http:")) : null;
  if (url === null || url.protocol !== "http:") return null;
  const host = url.hostname.replace(/[[\]]/g, "");
  return { url, place: { host, port: Number(url.port) || 80 } };
}

/** Forwards a request whose target is a whole URL. */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: Options,
): Promise<void> {
  if (!isAllowed(request, options)) return refuse(response, [407, "Send the proxy's token."]);
  const target = parseTarget(request);
  if (target === null) return refuse(response, [400, "The target is not an http: URL."]);
  const { url, place } = target;
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("The client has gone.")));
  let connection: Duplex;
  try {
    connection = await options.dial({ ...place, signal: gone.signal });
  } catch (error) {
    return refuse(response, refusalOf(error));
  }
  connection.on("error", () => {});
  if (gone.signal.aborted) connection.destroy();
  response.once("close", () => connection.destroy());
  breakOffAtEnd(request, response);
  const passed = httpRequest({
    method: request.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: { ...passedHeaders(request), host: url.host },
    createConnection: () => connection,
  });
  passed.on("error", () => {
    if (response.headersSent) breakOff(response);
    else refuse(response, REFUSALS.failed);
  });
  passed.on("response", (answer) => pass(answer, response));
  // The request did not ask for another protocol.
  passed.on("upgrade", () => refuse(response, UNREADABLE));
  request.pipe(passed);
  // After an early answer, the rest of the request is thrown away, and the next one can come.
  response.once("close", () => request.unpipe(passed).resume());
}

/**
 * If the client ends its side before it has the answer, Node ends the answer midway, as if it were
 * complete.
 */
function breakOffAtEnd({ socket }: IncomingMessage, response: ServerResponse): void {
  const onEnd = () => breakOff(response);
  socket.prependOnceListener("end", onEnd);
  response.once("close", () => socket.off("end", onEnd));
}

/**
 * Passes an answer on. Node reads some answers that it refuses to write: with status 000, or with
 * control characters in the reason.
 */
function pass(answer: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, statusMessage } = answer;
  // Node frames the body as the client's version of HTTP needs it.
  const { "transfer-encoding": _, ...headers } = passedHeaders(answer);
  try {
    if (statusCode < 200) throw new RangeError("It is not final.");
    response.writeHead(statusCode, statusMessage, headers);
  } catch {
    return refuse(response, UNREADABLE);
  }
  answer.on("error", () => breakOff(response));
  answer.pipe(response);
}

/** Clients of HTTP/1.0 take the end of the connection for the end of the answer. */
function breakOff(response: ServerResponse): void {
  if (response.socket !== null && !response.writableFinished) reset(response.socket);
  response.destroy();
}

function refuse(response: ServerResponse, [status, sentence, error]: Refusal): void {
  if (status === 407) response.setHeader("proxy-authenticate", 'Basic realm="mesh"');
  if (error !== undefined) response.setHeader("proxy-status", proxyStatus(error));
  // This reason replaces the one of an answer that Node refused to write.
  response.writeHead(status, REASONS[status], { "content-type": "text/plain" });
  response.end(`${sentence}\n`);
}

/** The headers to pass on, unchanged. */
function passedHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  const named = (headers.connection ?? "").toLowerCase().split(",").map((name) => name.trim());
  const entries = Object.entries(headers).filter(([name, value]) =>
    value !== undefined && !OF_ONE_CONNECTION.includes(name) &&
    (FRAMING.includes(name) || !named.includes(name))
  );
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}

/** `<host>:<port>`, with an IPv6 address in brackets. */
function parseAuthority(text: string): { readonly host: string; readonly port: number } | null {
  const [, host, digits] = /^\[?([^\[\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

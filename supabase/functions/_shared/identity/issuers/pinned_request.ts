/** Requests to the public internet alone, whatever a name leads to a moment later. */
import { Buffer } from "node:buffer";
import { publicAddresses, urlComplaint, type UrlOptions } from "./public_address.ts";

const MOST_BYTES = 256 * 1024;
/** How long one address may take to accept a connection, before the next one is tried. */
const CONNECT_MILLISECONDS = 5_000;
const BYTES_AT_ONCE = 16 * 1024;

/** Fetches JSON. Throws unless the answer is a 200 of at most MOST_BYTES. */
export async function fetchJson(
  address: string,
  options: UrlOptions & { readonly signal: AbortSignal },
): Promise<unknown> {
  const complaint = urlComplaint(address, options);
  if (complaint !== null) throw new Error(complaint);
  const url = new URL(address);
  const { signal } = options;
  const addresses = await publicAddresses(url, signal);
  if (addresses === null) throw new Error("has an address inside a private network.");
  const { status, headers, body } = await sendPinned({
    url,
    addresses,
    headers: { accept: "application/json", "accept-encoding": "identity" },
    mostBytes: MOST_BYTES,
    signal,
  });
  if (status !== 200) throw new Error(`answered with status ${status}.`);
  return await readJson(new Response(body, { headers }), MOST_BYTES);
}

/** Parses a body as JSON. Throws if it is not JSON, or larger than `mostBytes`. */
export async function readJson(response: Response, mostBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new Error(`answered more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  // Without a byte order mark, which a parser may ignore (RFC 8259, 8.1).
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the text.
    throw new Error(`answered no JSON (${response.headers.get("content-type") ?? "no type"}).`);
  }
}

/** A GET, or with a `body` a POST. */
interface PinnedRequest {
  readonly url: URL;
  /** Of the URL's host, already checked, and tried in this order. */
  readonly addresses: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the answer. With headers and the sizes of chunks, twice as many are read. */
  readonly mostBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to the first address that accepts a connection. `fetch` would look the name up
 * again, and could get other addresses than those that were checked. With https, the certificate
 * must be valid for the URL's name. Follows no redirect. Returns the body as it was sent, if a GET
 * was answered with 200. Throws if nothing answers.
 */
export async function sendPinned(request: PinnedRequest) {
  const { url, addresses, signal } = request;
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? 443 : 80));
  let connection: Deno.Conn = await connectToFirst(addresses, { port, signal });
  const close = () => closeQuietly(connection);
  signal.addEventListener("abort", close);
  try {
    if (isSecure) {
      connection = await Deno.startTls(connection as Deno.TcpConn, {
        // Certificates have names without the dot that ends an absolute one.
        hostname: url.hostname.replace(/\.$/, ""),
        alpnProtocols: ["http/1.1"],
      });
    }
    signal.throwIfAborted();
    const bytes = requestBytes(request);
    for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
    return await readAnswer(connection, request);
  } catch (error) {
    // Not that the connection is closed, which is what follows.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

async function connectToFirst(
  addresses: readonly string[],
  { port, signal }: { readonly port: number; readonly signal: AbortSignal },
): Promise<Deno.Conn> {
  for (const address of addresses) {
    const tooLate = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MILLISECONDS)]);
    const connection = await connectUntil(tooLate, { hostname: address, port });
    signal.throwIfAborted();
    if (connection !== null) return connection;
  }
  throw new Error("No address accepts a connection.");
}

/** Null if there is no connection. This Deno cannot abort an attempt, so a late one is closed. */
function connectUntil(
  signal: AbortSignal,
  options: Deno.ConnectOptions,
): Promise<Deno.Conn | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve) => {
    const giveUp = () => resolve(null);
    signal.addEventListener("abort", giveUp, { once: true });
    Deno.connect(options).then((connection) => {
      signal.removeEventListener("abort", giveUp);
      if (signal.aborted) closeQuietly(connection);
      else resolve(connection);
    }, giveUp);
  });
}

function requestBytes({ url, headers, body }: PinnedRequest): Uint8Array {
  const fields = {
    host: url.host,
    "user-agent": "agent-artifacts",
    accept: "*/*",
    ...(body && { "content-length": String(Buffer.byteLength(body)) }),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const method = body === undefined ? "GET" : "POST";
  const head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.from(head + (body ?? ""));
}

/** Throws if the answer is no HTTP, cut short, or too large. */
async function readAnswer(connection: Deno.Conn, { body: sent, mostBytes }: PinnedRequest) {
  const { HTTPParser } = await import("http-parser-js");
  const parser = new HTTPParser(HTTPParser.RESPONSE);
  let status = 0;
  let headers = new Headers();
  let isOver = false;
  const body: Uint8Array[] = [];
  parser[HTTPParser.kOnHeadersComplete] = ({ statusCode, headers: namesAndValues }) => {
    if (isOver) return;
    status = statusCode;
    headers = new Headers();
    for (let at = 0; at < namesAndValues.length;) {
      headers.append(namesAndValues[at++]!, namesAndValues[at++]!);
    }
    // Answers with 1xx come before it (RFC 9110, 15.2).
    isOver = status > 200 || status === 200 && sent !== undefined;
  };
  parser[HTTPParser.kOnBody] = (bytes) => void (isOver || body.push(bytes));
  parser[HTTPParser.kOnMessageComplete] = () => void (isOver ||= status >= 200);
  for (let size = 0; !isOver;) {
    const bytes = Buffer.alloc(BYTES_AT_ONCE);
    const count = await connection.read(bytes);
    size += count ?? 0;
    if (size > 2 * mostBytes) throw new Error(`answered more than ${mostBytes} bytes.`);
    const end = count === null ? parser.finish() : parser.execute(bytes, 0, count);
    if (!isOver && (count === null || typeof end !== "number")) {
      throw new Error("answered no complete HTTP.");
    }
  }
  return { status, headers, body: Buffer.concat(body) };
}

/** Closing throws if the other side has closed. */
function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed.
  }
}

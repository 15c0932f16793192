/** Sends one HTTP request to an address that was checked, whatever its name resolves to now. */
import { Buffer } from "node:buffer";

/** How long one address may take to accept a connection, before the next one is tried. */
const CONNECT_MILLISECONDS = 5_000;
/** What a receiver may send before its status line is complete. */
const MOST_BYTES = 16 * 1024;

export interface PinnedRequest {
  readonly url: URL;
  /** Of the URL's host, tried in this order. */
  readonly addresses: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * POSTs a body; returns the status of the answer, and does not read the rest. `fetch` would look
 * the name up again, and could get other addresses than those that were checked. With https, the
 * certificate must be valid for the URL's name. Follows no redirect. Throws if nothing answers.
 */
export async function postTo({ url, signal, ...request }: PinnedRequest): Promise<number> {
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? 443 : 80));
  let connection: Deno.Conn = await connectToFirst(request.addresses, { port, signal });
  const close = () => closeQuietly(connection);
  signal.addEventListener("abort", close);
  try {
    signal.throwIfAborted();
    if (isSecure) {
      connection = await Deno.startTls(connection as Deno.TcpConn, {
        // Certificates have names without the dot that ends an absolute one.
        hostname: url.hostname.replace(/\.$/, ""),
        alpnProtocols: ["http/1.1"],
      });
      signal.throwIfAborted();
    }
    await writeAll(connection, requestText({ url, ...request }));
    return await readStatus(connection);
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

function requestText({ url, headers, body }: Pick<PinnedRequest, "url" | "headers" | "body">) {
  const bytes = Buffer.from(body);
  const fields = {
    host: url.host,
    "user-agent": "agent-artifacts",
    accept: "*/*",
    "content-length": String(bytes.length),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

/** Reads the status of the answer. Answers with 1xx come before it (RFC 9110, 15.2). */
async function readStatus(connection: Deno.Conn): Promise<number> {
  let text = "";
  const chunk = new Uint8Array(1024);
  for (let size = 0; size < MOST_BYTES;) {
    const count = await connection.read(chunk);
    if (count === null) break;
    size += count;
    text += Buffer.from(chunk.subarray(0, count)).toString("latin1");
    text = text.replace(/^(?:HTTP\/1\.\d 1\d\d(?=[ \r])[^]*?\r\n\r\n)+/, "");
    const [, status] = /^HTTP\/1\.\d ([2-5]\d\d)(?: [^\r\n]*)?\r?\n/.exec(text) ?? [];
    if (status !== undefined) return Number(status);
  }
  throw new Error("No HTTP answer.");
}

/** Closing what the other side or a time-out has closed already throws. */
function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed.
  }
}

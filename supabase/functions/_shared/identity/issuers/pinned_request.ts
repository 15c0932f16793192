/** Requests to the public internet alone, whatever a name leads to a moment later. */
import { Buffer } from "node:buffer";
import { BlockList, isIP } from "node:net";

/**
 * Networks that are not the internet (RFC 6890), and networks that translate to them. There is one
 * list per family, because `BlockList` also looks for an IPv4 address in IPv6 networks, and
 * `::ffff:0:0/96` contains all of them.
 */
const INSIDE = {
  4: blockList(
    "ipv4",
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 " +
      "192.168.0.0/16 198.18.0.0/15 224.0.0.0/3",
  ),
  6: blockList(
    "ipv6",
    "::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2002::/16 fc00::/7 " +
      "fe80::/10 fec0::/10 ff00::/8",
  ),
};

function blockList(family: "ipv4" | "ipv6", networks: string): BlockList {
  const list = new BlockList();
  for (const each of networks.split(" ")) {
    const [network, prefix] = each.split("/");
    list.addSubnet(network!, Number(prefix), family);
  }
  return list;
}

const NAMES_INSIDE = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|onion)$/;

export interface UrlOptions {
  /** Whether http://127.0.0.1 is allowed. */
  readonly allowLoopback: boolean;
  /** An issuer has no query (OpenID Connect Discovery 1.0, 3). The address of its keys may. */
  readonly allowQuery?: boolean;
}

/** What is wrong with the URL of an issuer or of its keys; null: nothing. */
export function urlComplaint(
  text: string,
  { allowLoopback, allowQuery = false }: UrlOptions,
): string | null {
  const url = URL.parse(text);
  const forbidden = allowQuery ? /[#\s\\]/ : /[?#\s\\]/;
  if (url === null || url.username || url.password || forbidden.test(text)) {
    return `Must be a URL without user${allowQuery ? "" : ", query"} or fragment.`;
  }
  if (![url.href, url.href.slice(0, -1)].includes(text)) {
    return `Must be spelled as ${url.href}.`;
  }
  if (allowLoopback && url.protocol === "http:" && url.hostname === "127.0.0.1") return null;
  if (url.protocol !== "https:") return "Must be https.";
  const host = url.hostname.replace(/\.+$/, "");
  if (host.startsWith("[") || isIP(host) !== 0) return "Must have a name, not an address.";
  if (!host.includes(".") || NAMES_INSIDE.test(host)) return "Must be a public DNS name.";
  return null;
}

/**
 * The addresses of a URL's host at this moment. Null: one of them is inside a private network.
 * Throws if it has none.
 */
export async function publicAddresses(
  { hostname }: URL,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  // `urlComplaint` has allowed it.
  if (hostname === "127.0.0.1") return [hostname];
  const lookups = await Promise.allSettled([
    Deno.resolveDns(hostname, "A", { signal }),
    Deno.resolveDns(hostname, "AAAA", { signal }),
  ]);
  signal.throwIfAborted();
  const found = lookups.flatMap((lookup) => lookup.status === "fulfilled" ? lookup.value : []);
  if (found.length === 0) throw new Error("has no address.");
  return found.every(isPublic) ? found : null;
}

/** Whether an address belongs to the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address) as 0 | 4 | 6;
  return family !== 0 && !INSIDE[family].check(address, `ipv${family}`);
}

/** How long one address may take to accept a connection, before the next one is tried. */
const CONNECT_MILLISECONDS = 5_000;
const BYTES_AT_ONCE = 16 * 1024;

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

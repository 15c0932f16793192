/** Sends one event to an address that was checked, whatever its name resolves to a moment later. */
import { Buffer } from "node:buffer";
import { allowedAddresses } from "./target.ts";
import type { Sign } from "./signing.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** What take_deliveries returns of one event; null: the log has forgotten it. */
export interface DueEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly position: string;
  readonly agent_id?: string;
  readonly grant_id?: string;
  readonly artifact_id?: string;
}

export interface Delivery {
  readonly webhook_id: string;
  readonly event_id: number;
  /** The header webhook-id. */
  readonly message_id: string;
  /** Which attempt this is. */
  readonly attempt: number;
  readonly event: DueEvent | null;
}

/** How an attempt ended, as record_outcomes takes it. */
export interface Outcome {
  readonly webhook_id: string;
  readonly event_id: number;
  readonly attempt: number;
  /** The receiver's HTTP status; null: it did not answer. */
  readonly status: number | null;
  /** One word; null: it answered. */
  readonly error: string | null;
}

/** How long a receiver may take, with the look-up of its name. */
export const SEND_MILLISECONDS = 30_000;

/** Sends one event once. Never throws. No message of an error is kept: it may quote the URL. */
export async function send(
  delivery: Delivery,
  { url, sign, settings }: {
    readonly url: string;
    readonly sign: Sign;
    readonly settings: Pick<ArtifactsSettings, "supabaseUrl" | "webhooksAllowHttp">;
  },
): Promise<Outcome> {
  const { webhook_id, event_id, attempt, event } = delivery;
  const ended = (status: number | null, error: string | null): Outcome => ({
    webhook_id,
    event_id,
    attempt,
    status,
    error,
  });
  if (event === null) return ended(null, "event_forgotten");
  const signal = AbortSignal.timeout(SEND_MILLISECONDS);
  const body = bodyOf(event_id, event);
  try {
    const addresses = await allowedAddresses(url, settings, signal);
    if (addresses === null) return ended(null, "address_refused");
    const headers = {
      "content-type": "application/json",
      ...sign({ id: delivery.message_id, sentAt: new Date(), body }),
    };
    return ended(await postTo({ url: new URL(url), addresses, headers, body, signal }), null);
  } catch {
    return ended(null, signal.aborted ? "timeout" : "unreachable");
  }
}

/** Identifiers alone: never a file's name, a note, a token or bytes. */
function bodyOf(event_id: number, event: DueEvent): string {
  const { type, timestamp, agent_id = null, grant_id, artifact_id, position } = event;
  return JSON.stringify({
    type,
    timestamp,
    data: { event_id: `evt_${event_id}`, agent_id, grant_id, artifact_id, position },
  });
}

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

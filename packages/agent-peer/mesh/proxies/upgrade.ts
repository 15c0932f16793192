import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { reset, splice } from "./tunnelling.ts";

/** What a request's answer is written with, instead of a ServerResponse. */
export interface UpgradeClient {
  readonly client: Duplex;
  /** What the client has sent after the request. */
  readonly head: Uint8Array;
}

export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly url: URL;
  /** Without those of one connection. */
  readonly headers: Record<string, string | string[]>;
  /** To the peer. */
  readonly connection: Duplex;
  /** Answers the client that the peer's answer is not valid. */
  readonly refuse: () => void;
}

/**
 * Passes on a request that asks for another protocol (RFC 9110, 7.8). WebSocket is passed on; other
 * protocols are not asked for, and the answer is an ordinary one. After it, the connection ends:
 * what the client sends next may be for another host.
 */
export function upgrade(
  { request, url, headers, connection, refuse }: UpgradeRequest,
  { client, head }: UpgradeClient,
): void {
  const isWebSocket = isForWebSocket(request);
  const passed = httpRequest({
    method: request.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: {
      ...headers,
      host: url.host,
      ...(isWebSocket && { connection: "Upgrade", upgrade: "websocket" }),
    },
    createConnection: () => connection,
  });
  const leave = () => connection.destroy();
  client.once("close", leave);
  passed.on("error", () => reset(client));
  passed.on("upgrade", (answer, socket, first) => {
    if (!isWebSocket || !isForWebSocket(answer)) {
      // What the client has sent next may be for another host.
      leave();
      return refuse();
    }
    // From here on, the client may end while the peer has not yet taken its last bytes.
    client.off("close", leave);
    client.write(headOf(answer), "latin1");
    if (first.length > 0) client.write(first);
    if (head.length > 0) socket.write(head);
    splice(client, socket);
  });
  passed.on("response", (answer) => {
    // Node has undone the chunks. The end of the connection is the end of the body.
    const ownHead = headOf(answer, ["connection", "transfer-encoding"], ["connection: close"]);
    client.write(ownHead, "latin1");
    answer.on("error", () => reset(client));
    answer.on("close", () => {
      if (!answer.complete) reset(client);
    });
    answer.pipe(client);
    client.resume();
  });
  passed.end();
}

function isForWebSocket({ headers }: IncomingMessage): boolean {
  return /^websocket$/i.test(headers.upgrade ?? "");
}

/** The head of an answer, without the headers of these names, and with these lines. */
function headOf(
  { statusCode, statusMessage, rawHeaders }: IncomingMessage,
  without: readonly string[] = [],
  lines: readonly string[] = [],
): string {
  const kept = [...lines];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (!without.includes(name.toLowerCase())) kept.push(`${name}: ${value}`);
  }
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...kept, "", ""].join("\r\n");
}

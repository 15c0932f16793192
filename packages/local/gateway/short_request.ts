import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent } from "undici";
import { breakOff } from "./break_off.ts";
import type { Connections, ForwardOptions } from "./forward_options.ts";
import { forwardedHeaders, withoutHopByHop } from "./headers.ts";

const MAX_BODY_BYTES = 64 * 1024;

/**
 * The connections are closed long before an upstream closes them: PostgREST does so after 30
 * seconds. This uses undici, because the agent of Deno's node:http sends a POST again when its
 * connection breaks, though the upstream may already have processed it.
 */
export function openConnections(): Connections {
  return new Agent({
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Whether the request has no body or a short one, which can be held in memory. */
export function isShort({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && headers.expect === undefined &&
    Number(headers["content-length"] ?? 0) <= MAX_BODY_BYTES;
}

/** Passes on a request that `isShort`, on a connection that may have been used before. */
export async function forwardShort(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  let body: Buffer;
  try {
    body = await readAll(request);
  } catch {
    response.destroy();
    return;
  }
  const send = () =>
    options.connections.request({
      origin: `http://127.0.0.1:${options.port}`,
      method: request.method as "GET",
      path: options.path,
      headers: forwardedHeaders(request, options.headers ?? request.headers),
      body: body.length === 0 ? null : body,
      signal: gone.signal,
    });
  try {
    const answer = await send().catch((error) => {
      // The upstream may have closed the connection just before. Only GET and HEAD are sent again,
      // because nobody knows whether any other request has already arrived.
      const isRepeatable = request.method === "GET" || request.method === "HEAD";
      if (!isRepeatable || !isBroken(error)) throw error;
      return send();
    });
    // Not undici's `stream`, which would destroy the response after an error.
    answer.body.on("error", () => breakOff(response));
    response.writeHead(answer.statusCode, withoutHopByHop(answer.headers));
    answer.body.pipe(response);
  } catch {
    if (!gone.signal.aborted) options.whenDown(request, response);
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function isBroken({ code }: { readonly code?: string }): boolean {
  return code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
}

import { type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http";
import { breakOff } from "./break_off.ts";
import type { ForwardOptions } from "./forward_options.ts";
import { forwardedHeaders, withoutHopByHop } from "./headers.ts";
import { forwardShort, isShort } from "./short_request.ts";

/**
 * Passes a request on and its answer back, byte for byte. When one side closes its connection, the
 * other connection is closed too.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): void {
  if (options.port === 0) {
    request.resume();
    options.whenDown(request, response);
  } else if (isShort(request)) forwardShort(request, response, options);
  else forwardStream(request, response, options);
}

/** Passes on a body of any length as its bytes arrive, on its own connection. */
function forwardStream(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwardOptions,
): void {
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const upstream = sendRequest({
    host: "127.0.0.1",
    port: options.port,
    method: request.method,
    path: options.path,
    headers: {
      ...forwardedHeaders(request, options.headers ?? request.headers),
      // Keep a chunked body chunked.
      ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
    },
    agent: false,
  });
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers));
    answer.pipe(response);
    answer.on("error", () => breakOff(response));
    answer.on("end", () => {
      if (request.complete) return;
      takeRest();
      upstream.destroy();
    });
  });
  upstream.on("error", () => {
    takeRest();
    if (response.headersSent) breakOff(response);
    else options.whenDown(request, response);
  });
  response.on("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);

  /**
   * Reads and drops the rest of the body: some senders read an early answer only after they have
   * sent all.
   */
  function takeRest(): void {
    request.unpipe(upstream);
    request.resume();
  }
}

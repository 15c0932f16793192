import type { IncomingMessage, ServerResponse } from "node:http";

const METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT";

/**
 * Lets pages of any origin use the services behind the gateway, like the `cors` plugin of
 * Supabase's gateway. Returns whether the request was a preflight, and answers it then. The
 * functions handle CORS themselves.
 */
export function allowAnyOrigin(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader("access-control-allow-origin", "*");
  const isPreflight = request.method === "OPTIONS" &&
    request.headers["access-control-request-method"] !== undefined;
  if (!isPreflight) return false;
  response.writeHead(200, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "",
    "content-length": "0",
  }).end();
  return true;
}

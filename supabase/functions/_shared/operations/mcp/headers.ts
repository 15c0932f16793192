import {
  isInitializeRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";

/** The newest version, whose messages name it themselves. The SDK's list has the older ones. */
const SUPPORTED = ["2026-07-28", ...SUPPORTED_PROTOCOL_VERSIONS];

/**
 * A request with the headers in the form in which the SDK demands them. It refuses callers that
 * accept JSON alone, although it answers nothing else here. It refuses an `initialize` whose
 * header names a newer version, before the two sides have agreed on one. And it refuses to tell of
 * a task without the header that repeats its name, which fastmcp does not send: it is for proxies.
 */
export function settleHeaders(received: Request, message: object): Request {
  const headers = new Headers(received.headers);
  headers.set("accept", "application/json, text/event-stream");
  if (isInitializeRequest(message) && !namesVersion(message)) {
    headers.delete("mcp-protocol-version");
  }
  const { params } = message as { params?: { taskId?: unknown } };
  const taskId = String(params?.taskId ?? "");
  if (/^\w+$/.test(taskId) && !headers.has("mcp-name")) headers.set("mcp-name", taskId);
  return new Request(received.url, { method: received.method, headers });
}

/** The refusal of a message whose header names a version that nobody here speaks; null: none. */
export function refuseVersion({ headers }: Request, message: object): Response | null {
  const requested = headers.get("mcp-protocol-version")?.trim();
  if (requested === undefined || SUPPORTED.includes(requested) || namesVersion(message)) {
    return null;
  }
  const { code, message: text, data } = new UnsupportedProtocolVersionError({
    supported: SUPPORTED,
    requested,
  });
  const id = (message as { id?: unknown }).id ?? null;
  return Response.json({ jsonrpc: "2.0", error: { code, message: text, data }, id }, {
    status: 400,
  });
}

/** Whether the message itself names its version, as those of 2026-07-28 do. */
function namesVersion(message: object): boolean {
  const { params } = message as { params?: { _meta?: Record<string, unknown> } };
  return params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;
}

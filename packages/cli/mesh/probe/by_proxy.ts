/** What a connection through the proxy of `mesh join` says of a port of a peer. */
import { Buffer } from "node:buffer";
import { request, type RequestOptions } from "node:http";
import { UsageError } from "../../../command/usage_error.ts";
import type { ProxyAnswer } from "./facts.ts";

/** In milliseconds. The proxy itself gives up earlier. */
const WAITING = 60_000;

/** The types of RFC 9209 that the proxy uses. */
const ANSWERS: Readonly<Record<string, ProxyAnswer>> = {
  http_request_denied: "denied",
  dns_error: "unknown_peer",
  connection_refused: "refused",
  connection_timeout: "timeout",
};

/** Where a proxy is, and what it wants to see. Throws UsageError if the URL is another one. */
export function parseProxy(text: string): RequestOptions {
  const socket = /^http\+unix:\/\/([^/?#]+)$/.exec(text)?.[1];
  if (socket !== undefined) return { socketPath: decodeURIComponent(socket) };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "http:" || url.hostname === "") {
    throw new UsageError("--proxy takes the URL that mesh join prints for its HTTP proxy.");
  }
  const login = [url.username, url.password].map(decodeURIComponent).join(":");
  return {
    host: url.hostname.replace(/[[\]]/g, ""),
    port: url.port || 80,
    ...(url.username !== "" && {
      headers: { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` },
    }),
  };
}

/** Asks the proxy to connect, and closes the connection at once. */
export function connectByProxy(proxy: RequestOptions, target: string): Promise<ProxyAnswer> {
  return new Promise((resolve) => {
    const asked = request({
      ...proxy,
      method: "CONNECT",
      path: target,
      agent: false,
      signal: AbortSignal.timeout(WAITING),
    });
    asked.on("connect", ({ statusCode, headers }, socket) => {
      socket.destroy();
      const error = /;\s*error=([a-z_]+)/.exec(String(headers["proxy-status"] ?? ""))?.[1];
      if (statusCode === 200) resolve("open");
      else resolve(ANSWERS[error ?? ""] ?? (statusCode === 407 ? "token_refused" : "failed"));
    });
    asked.on("error", () => resolve("no_proxy"));
    asked.end();
  });
}

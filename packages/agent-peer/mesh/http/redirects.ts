import type { IncomingMessage } from "node:http";
import type { Sent } from "./sent.ts";

/** Headers about a body, which a redirect to GET drops. */
const BODY_HEADERS = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-type",
];

/** The request that an answer redirects to (WHATWG Fetch, "HTTP-redirect fetch"), or null. */
export function nextRequest(sent: Sent, message: IncomingMessage): Sent | null {
  const { statusCode: status = 0, headers: { location } } = message;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return null;
  const url = new URL(location, sent.url);
  if (url.hash === "") url.hash = sent.url.hash;
  const headers = new Headers(sent.headers);
  // The credentials were meant only for the first origin.
  if (url.origin !== sent.url.origin) {
    for (const name of ["authorization", "cookie", "host"]) headers.delete(name);
  }
  const becomesGet = (status === 303 && !["GET", "HEAD"].includes(sent.method)) ||
    ([301, 302].includes(status) && sent.method === "POST");
  if (becomesGet) {
    for (const name of BODY_HEADERS) headers.delete(name);
    return { url, method: "GET", headers, body: null };
  }
  if (sent.body instanceof ReadableStream) {
    throw new TypeError("The answer is a redirect, and the stream was sent already.");
  }
  return { ...sent, url, headers };
}

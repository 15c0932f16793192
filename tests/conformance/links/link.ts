/** Follows links as a browser does. */
import assert from "node:assert/strict";
import { fetchDescribed } from "../client.ts";

export interface Followed {
  readonly status: number;
  readonly headers: Headers;
  /** The header `location`, or null. */
  readonly location: string | null;
  readonly text: string;
}

/** A browser's `accept` header: it prefers HTML. */
export const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/** Requests the link of a token, without following the redirect. */
export async function follow(
  token: string,
  { method = "GET", accept = "*/*", headers = {} }: {
    readonly method?: string;
    readonly accept?: string;
    readonly headers?: Record<string, string>;
  } = {},
): Promise<Followed> {
  const response = await fetchDescribed(`/agent-artifacts/d/${token}`, {
    method,
    headers: { accept, ...headers },
    redirect: "manual",
  });
  const followed = {
    status: response.status,
    headers: response.headers,
    location: response.headers.get("location"),
    text: await response.text(),
  };
  assert.equal(followed.headers.get("cache-control"), "no-store");
  assert.equal(followed.headers.get("referrer-policy"), "no-referrer");
  assert.equal(followed.text.includes(token) && token !== "", false, "the token is in the answer");
  return followed;
}

/** Opens the link of a token in a browser and, if that shows a page, presses its button. */
export async function press(token: string): Promise<Followed> {
  const opened = await follow(token, { accept: BROWSER });
  if (opened.status !== 200) return opened;
  assert.match(opened.text, /<form method="post"><button>/);
  return await follow(token, { method: "POST", accept: BROWSER });
}

/** Asserts that a link led to a download. Returns its URL. */
export function assertLeads({ status, location, text }: Followed): string {
  assert.ok(status === 302 || status === 303, `${status} ${text}`);
  assert.notEqual(location, null);
  return location!;
}

/** Asserts an error, as JSON. */
export function assertRefused(followed: Followed, status: number, code: string): void {
  assert.equal(followed.headers.get("content-type"), "application/json");
  assert.equal(followed.location, null);
  const { error } = JSON.parse(followed.text);
  assert.equal(`${followed.status} ${error.code}`, `${status} ${code}`);
}

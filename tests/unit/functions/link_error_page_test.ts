import assert from "node:assert/strict";
import {
  ERROR_CODES,
  type ErrorCode,
  errorEntry,
  ServiceError,
} from "../../../supabase/functions/_shared/request/errors.ts";
import { filePage } from "../../../supabase/functions/agent-artifacts/links/file_page.ts";
import { linkErrorResponse } from "../../../supabase/functions/agent-artifacts/links/error_page.ts";

function render(code: ErrorCode, requestId = "r1"): Promise<Response> {
  return linkErrorResponse(
    new ServiceError(code, { message: "<b>A detail of the inside.</b>" }),
    {
      request: new Request("http://127.0.0.1/d/g_secret", { headers: { accept: "text/html" } }),
      requestId,
    },
  );
}

Deno.test("the page of any error → its status and code in plain words, nothing of its message or of the request", async () => {
  for (const code of ERROR_CODES) {
    const response = await render(code);
    const { status, retryAfterSeconds } = errorEntry(code);
    assert.equal(response.status, status);
    assert.equal(response.headers.has("retry-after"), retryAfterSeconds !== undefined);
    const text = await response.text();
    assert.ok(text.includes(`${code}, request r1`));
    assert.doesNotMatch(text, /inside|g_secret|<b>/);
  }
});

Deno.test("the page's source → reads as text: a headline, advice, and what to ask with, a line each", async () => {
  const [head = "", ...lines] = (await (await render("grant_expired")).text()).split("\n");
  assert.ok(head.startsWith("<!doctype html>"));
  assert.deepEqual(lines.map((line) => line.replaceAll(/<[^>]+>/g, "")).filter(Boolean), [
    "This link has expired",
    "Ask the person who sent it for a new one.",
    "If you ask for help, mention: grant_expired, request r1.",
  ]);
});

Deno.test("the page of an error → the style and the landmark of a file's page, for light and dark, and its policy allows exactly that", async () => {
  const response = await render("grant_expired");
  const text = await response.text();
  const file = {
    key: "plan.txt",
    size: 1,
    from_agent: "planner",
    downloads_left: null,
    expires_at: "2026-12-31T18:00:00.000Z",
  };
  const request = new Request("http://127.0.0.1/d/g_secret");
  const settings = { supabaseUrl: "http://127.0.0.1", publicSupabaseUrl: null };
  const shown = await filePage(file as never, request, settings as never);
  const styleOf = (page: string) => /<style>([^<]*)<\/style>/.exec(page)?.[1];
  const style = styleOf(text);
  assert.ok(style?.includes("color-scheme: light dark"), text);
  assert.equal(style, styleOf(await shown.text()));
  assert.match(text, /<main>[^]*<h1>[^]*<\/main>/);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  const named = `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`;
  assert.equal(
    response.headers.get("content-security-policy"),
    `default-src 'none'; style-src ${named}; base-uri 'none'; frame-ancestors 'none'; form-action 'none'`,
  );
});

Deno.test("every value in the page → escaped", async () => {
  const text = await (await render("internal", '"><script>alert(1)</script>')).text();
  assert.equal(text.includes("<script"), false);
  assert.ok(text.includes("&lt;script&gt;"));
});

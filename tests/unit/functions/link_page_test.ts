import assert from "node:assert/strict";
import type { LinkedFile } from "../../../supabase/functions/_shared/operations/link.ts";
import { readPlatformSettings } from "../../../supabase/functions/_shared/request/settings/platform.ts";
import { filePage, fileText } from "../../../supabase/functions/agent-artifacts/links/file_page.ts";
import { servesHtml } from "../../../supabase/functions/agent-artifacts/links/served_html.ts";

const FILE: LinkedFile = {
  key: "plans/house.txt",
  size: 48_213,
  from_agent: "planner",
  expires_at: "2026-01-31T09:30:00.000Z",
  downloads_left: null,
};

function settingsFor(SUPABASE_URL: string, others: Record<string, string> = {}) {
  return readPlatformSettings(
    new Map(Object.entries({ SUPABASE_URL, SUPABASE_SECRET_KEYS: '{"default":"x"}', ...others })),
  );
}

function requestWith(headers: Record<string, string> = {}): Request {
  return new Request("http://127.0.0.1:54321/agent-artifacts/d/g_secret", { headers });
}

async function render(changes: Partial<LinkedFile> = {}): Promise<string> {
  const page = await filePage(
    { ...FILE, ...changes },
    requestWith(),
    settingsFor("http://127.0.0.1:54321"),
  );
  return await page.text();
}

Deno.test("the page of a file → its name, size, sender and end, and no more of the key or the request", async () => {
  const text = (await render()).replace(/^[^]*<main>/, "").replaceAll(/<[^>]+>/g, "")
    .split("\n").filter(Boolean);
  assert.deepEqual(text, [
    "house.txt",
    "48.2 kB, from planner.",
    "Download",
    "This link works until 31 January 2026 at 09:30 UTC.",
  ]);
  assert.match(await render({ downloads_left: 1 }), /09:30 UTC<\/time>, for one more download\./);
  assert.match(await render({ downloads_left: 7 }), /09:30 UTC<\/time>, for 7 more downloads\./);
  assert.doesNotMatch(await render(), /plans|g_secret/);
});

Deno.test("sizes → in the unit that reads best", async () => {
  for (
    const [size, words] of [
      [0, "0 bytes"],
      [1, "1 byte"],
      [999, "999 bytes"],
      [1000, "1 kB"],
      [1_234_567, "1.23 MB"],
      [5 * 2 ** 30, "5.37 GB"],
    ] as const
  ) {
    assert.equal(await fileText({ ...FILE, size }).text(), `house.txt, ${words}\n`);
  }
});

Deno.test("a file's name with markup, or with characters that hide what it is → shown as they are", async () => {
  const hostile = await render({ key: '<script>alert(1)</script>"&\u202egpj.exe' });
  // The page shows the part of the key after its last slash.
  assert.match(hostile, /<h1><bdi>script&gt;&quot;&amp;\\u202egpj\.exe<\/bdi><\/h1>/);
  assert.equal(hostile.includes("<script"), false);
  assert.equal(hostile.includes("\u202e"), false);
  const text = await fileText({ ...FILE, key: "a\u202eb" }).text();
  assert.equal(text, "a\\u202eb, 48.2 kB\n");
});

Deno.test("where a link is opened → a page where HTML is served as HTML, not on the platform's default domain", () => {
  const hosted = settingsFor("https://abc.supabase.co");
  const custom = settingsFor("https://abc.supabase.co", {
    PUBLIC_SUPABASE_URL: "https://files.example.com",
  });
  const local = settingsFor("http://kong:8000");
  const from = (host: string) => requestWith({ "x-forwarded-host": host });
  const cases: [shown: boolean, settings: typeof hosted, request: Request][] = [
    [false, hosted, requestWith()],
    [false, hosted, from("abc.supabase.co")],
    [false, hosted, from("files.example.com")],
    [true, custom, from("files.example.com")],
    [false, custom, from("abc.supabase.co")],
    [false, custom, from("ABC.supabase.co")],
    [true, local, from("127.0.0.1:54321")],
    [true, settingsFor("http://127.0.0.1:54321"), requestWith()],
  ];
  for (const [shown, settings, request] of cases) {
    const { supabaseUrl, publicSupabaseUrl } = settings;
    assert.equal(
      servesHtml(request, settings),
      shown,
      `${supabaseUrl} ${publicSupabaseUrl} ${request.headers.get("x-forwarded-host")}`,
    );
  }
});

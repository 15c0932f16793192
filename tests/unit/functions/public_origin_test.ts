import assert from "node:assert/strict";
import { publicUrl } from "../../../supabase/functions/_shared/request/reading/public_origin.ts";
import { readPlatformSettings } from "../../../supabase/functions/_shared/request/settings/platform.ts";

interface Situation {
  readonly supabaseUrl: string;
  readonly publicSupabaseUrl?: string;
  readonly headers?: Record<string, string>;
}

/** The public form of an upload URL that Storage made for the service itself. */
function published({ supabaseUrl, publicSupabaseUrl = "", headers = {} }: Situation): string {
  const settings = readPlatformSettings(
    new Map([
      ["SUPABASE_URL", supabaseUrl],
      ["SUPABASE_SERVICE_ROLE_KEY", "key"],
      ["PUBLIC_SUPABASE_URL", publicSupabaseUrl],
    ]),
  );
  const request = new Request("http://edge-runtime:8081/agent-artifacts/register", { headers });
  return publicUrl(new URL(`${supabaseUrl}/storage/v1/x?token=t`), request, settings);
}

Deno.test("publicUrl() on a hosted project → its own origin, whatever the request says", () => {
  const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" };
  assert.equal(
    published({ supabaseUrl: "https://project.supabase.co", headers }),
    "https://project.supabase.co/storage/v1/x?token=t",
  );
});

Deno.test("publicUrl() on a loopback stack → its own origin", () => {
  for (
    const supabaseUrl of ["http://127.0.0.1:54321", "http://localhost:54321", "http://[::1]:54321"]
  ) {
    assert.equal(published({ supabaseUrl }), `${supabaseUrl}/storage/v1/x?token=t`);
  }
});

Deno.test("publicUrl() with PUBLIC_SUPABASE_URL → that", () => {
  assert.equal(
    published({
      supabaseUrl: "http://kong:8000",
      publicSupabaseUrl: "https://api.example.com",
      headers: { "x-forwarded-host": "127.0.0.1" },
    }),
    "https://api.example.com/storage/v1/x?token=t",
  );
});

Deno.test("publicUrl() where SUPABASE_URL is a container's name → the origin that the request came to", () => {
  const supabaseUrl = "http://kong:8000";
  const origins: [Record<string, string>, string][] = [
    [
      { "x-forwarded-host": "127.0.0.1", "x-forwarded-port": "54321", "x-forwarded-proto": "http" },
      "http://127.0.0.1:54321",
    ],
    [
      { "x-forwarded-host": "127.0.0.1:54321", "x-forwarded-port": "8000" },
      "http://127.0.0.1:54321",
    ],
    [
      {
        "x-forwarded-host": "api.example.com, kong",
        "x-forwarded-proto": "https, http",
        "x-forwarded-port": "443",
      },
      "https://api.example.com",
    ],
    [{ host: "localhost:54321" }, "http://localhost:54321"],
  ];
  for (const [headers, origin] of origins) {
    assert.equal(published({ supabaseUrl, headers }), `${origin}/storage/v1/x?token=t`);
  }
});

Deno.test("publicUrl() without an origin in the headers, or with an invalid one → SUPABASE_URL", () => {
  for (
    const headers of [{}, { "x-forwarded-host": "a b" }, {
      "x-forwarded-host": "h",
      "x-forwarded-proto": "gopher",
    }]
  ) {
    assert.equal(
      published({ supabaseUrl: "http://kong:8000", headers }),
      "http://kong:8000/storage/v1/x?token=t",
    );
  }
});

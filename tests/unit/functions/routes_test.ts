import assert from "node:assert/strict";
import { artifactsApp } from "../../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";
import { cardsOf } from "../../operations/cards.ts";

const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
]);

const APPS = { "agent-artifacts": artifactsApp, "agent-mesh": meshApp };

/** Paths that both functions serve. */
const COMMON = [
  "/whoami",
  "/health",
  "/metrics",
  "/openapi.json",
  "/mcp",
  "/token",
  "/.well-known/oauth-protected-resource",
];
const LINKS = { "agent-artifacts": ["/d/:grant_token"], "agent-mesh": [] };

for (const name of ["agent-artifacts", "agent-mesh"] as const) {
  Deno.test(`every path of ${name} → an operation with a card, a link, or a path of both functions`, () => {
    const paths = APPS[name](ENVIRONMENT).routes
      .filter(({ method }) => method === "GET" || method === "POST")
      .map(({ path }) => path.slice(`/${name}`.length));
    assert.deepEqual(
      [...new Set(paths)].sort(),
      [...cardsOf(name).map(([path]) => path), ...LINKS[name], ...COMMON].sort(),
    );
  });
}

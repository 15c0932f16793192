import assert from "node:assert/strict";
import {
  createCallDatabase,
  createDatabaseClient,
} from "../../supabase/functions/_shared/upstream/database.ts";
import { readPlatformSettings } from "../../supabase/functions/_shared/settings/platform.ts";

Deno.test("a call → the function in the schema public, whichever the API lists first, with the service's key", async () => {
  const calls: Record<string, unknown>[] = [];
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { method, url, headers } = request;
      calls.push({
        method,
        path: new URL(url).pathname,
        schema: headers.get("content-profile"),
        apikey: headers.get("apikey"),
        authorization: headers.get("authorization"),
        body: await request.json(),
      });
      return Response.json({ done: true });
    },
  );
  const settings = readPlatformSettings(
    new Map([
      ["SUPABASE_URL", `http://127.0.0.1:${upstream.addr.port}`],
      ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
    ]),
  );
  const callDatabase = createCallDatabase(createDatabaseClient(settings));
  assert.deepEqual(await callDatabase("check_health", { a: 1 }), { done: true });
  assert.deepEqual(calls, [{
    method: "POST",
    path: "/rest/v1/rpc/check_health",
    schema: "public",
    apikey: "sb_secret_own",
    authorization: "Bearer sb_secret_own",
    body: { a: 1 },
  }]);
});

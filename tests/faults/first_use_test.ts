import assert from "node:assert/strict";
import { assertError, endCreatedAgents, SUPABASE_URL } from "../conformance/client.ts";
import { endMadeEnrolments, whoami } from "../conformance/enrolment/enrolments.ts";
import { secondGeneration } from "../operations/shared/enrolment/arrangements.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { failing, startProxy } from "../own_function/proxy.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("the first use of a new generation's key, while it cannot be recorded → 503, nothing was done, and the older key works; sent again → done, and the older key has ended", async () => {
  const { first, second } = await secondGeneration();
  await using proxy = startProxy(SUPABASE_URL, failing("/rpc/agent_api_note_first_use"));
  await using own = await startOwnFunction({
    supabaseUrl: proxy.url,
    // If the refused request had registered a file, there would be no place for another one.
    environment: { ARTIFACTS_MAX_PENDING: "1" },
  });
  const body = { agent_id: second.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
  const register = () => own.post("/register", { as: second, body });

  assertError(await register(), 503, "upstream_unavailable");
  assert.equal((await whoami(first)).status, 200);

  proxy.letPass();
  assert.equal((await register()).status, 200);
  assertError(await whoami(first), 401, "superseded");
});

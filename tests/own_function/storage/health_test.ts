import assert from "node:assert/strict";
import { SUPABASE_URL } from "../../conformance/client.ts";
import { startOwnFunction } from "../own_function.ts";
import { failing, startProxy } from "../proxy.ts";

for (
  const [upstream, call] of [["database", "/rpc/agent_api_check_health"], [
    "Storage",
    "/storage/v1/bucket/",
  ]]
) {
  Deno.test(`GET /health of agent-artifacts while its ${upstream} fails → 503; then 200`, async () => {
    await using proxy = startProxy(SUPABASE_URL, failing(call!));
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const health = async () => {
      const response = await fetch(`${own.process.url}/agent-artifacts/health`);
      return { status: response.status, body: await response.json() };
    };
    const failed = await health();
    assert.equal(failed.status, 503);
    assert.equal(failed.body.error.code, "upstream_unavailable");
    proxy.letPass();
    assert.deepEqual(await health(), { status: 200, body: { status: "ok" } });
  });
}

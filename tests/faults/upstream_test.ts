import assert from "node:assert/strict";
import { artifactTest, type Cast, publish } from "../conformance/artifacts.ts";
import { SUPABASE_URL } from "../conformance/client.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { startProxy } from "../own_function/proxy.ts";

/**
 * For each operation, an upstream call that changes nothing, and a request that makes this call.
 */
const REPEATABLE: Record<string, [call: string, bodyOf: (cast: Cast) => Promise<object>]> = {
  "/register": ["/object/upload/sign/", ({ planner }) =>
    Promise.resolve({
      agent_id: planner.id,
      key: "k",
      mime: "text/plain",
      size: 5,
      ttl_days: 1,
    })],
  "/open": ["/object/sign/", async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    return { artifact_id };
  }],
  "/list": [
    "/rpc/agent_api_list_artifacts",
    ({ planner }) => Promise.resolve({ agent_id: planner.id }),
  ],
};

for (const [path, [call, bodyOf]] of Object.entries(REPEATABLE)) {
  artifactTest(
    `${path} while a call that changes nothing fails once, with any passing status → 200, the call repeated`,
    async (cast) => {
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      for (const status of [429, 502, 503, 504, 544]) {
        const body = await bodyOf(cast);
        let calls = 0;
        proxy.intercept((passing) =>
          passing.path.includes(call) && calls++ === 0 ? new Response("m", { status }) : undefined
        );
        assert.equal((await own.post(path, { as: cast.planner, body })).status, 200);
        assert.equal(calls, 2);
      }
    },
  );
}

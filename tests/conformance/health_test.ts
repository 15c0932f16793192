import assert from "node:assert/strict";
import { artifactTest } from "./artifacts.ts";
import { ISO_TIMESTAMP, type JsonObject, PUBLISHABLE_KEY, SECRET_KEY, send } from "./client.ts";

for (const name of ["agent-artifacts", "agent-mesh"]) {
  const health = (headers: Record<string, string>) =>
    send(`/${name}/health`, { method: "GET", headers });

  Deno.test(`GET /${name}/health as the operator → also its version, its clock and its limits`, async () => {
    for (const headers of [{ apikey: SECRET_KEY }, { authorization: `Bearer ${SECRET_KEY}` }]) {
      const answer = await health(headers);
      assert.equal(answer.status, 200);
      const { status, version, time, settings, legacy_key, ...others } = answer.body;
      assert.ok(
        [undefined, "refused", "accepted", "only_key"].includes(legacy_key as undefined),
      );
      assert.deepEqual([status, typeof version, others], ["ok", "string", {}]);
      assert.match(String(time), ISO_TIMESTAMP);
      const limits = Object.entries(settings as JsonObject);
      assert.ok(limits.length > 5);
      for (const [variable, limit] of limits) {
        assert.match(variable, /^[A-Z_]+$/);
        assert.ok(Number.isInteger(limit), variable);
      }
    }
  });

  artifactTest(
    `GET /${name}/health with any other credential, or one beside the operator's → {"status":"ok"} alone`,
    async ({ planner }) => {
      const authorization = `Bearer ${planner.key}`;
      for (
        const headers of [
          { authorization },
          { authorization, apikey: SECRET_KEY },
          { apikey: PUBLISHABLE_KEY ?? "sb_publishable_x" },
          { apikey: `${SECRET_KEY}x` },
          { authorization: "Bearer", apikey: "" },
        ]
      ) {
        const { status, body } = await health(headers);
        assert.deepEqual([status, body], [200, { status: "ok" }], JSON.stringify(headers));
      }
    },
  );
}

import assert from "node:assert/strict";
import { withProjectDatabase } from "../database/connection.ts";
import { fill } from "./fill/fill.ts";
import { measurePolicy } from "./operator/policy.ts";

/** `POLICY_SIZE="100 1000 1 100000"`: tags, agents, reach, and peers outside the policy. */
const [tags, agents, reach, peers] = (Deno.env.get("POLICY_SIZE") ?? "4 20 2 1000").split(" ")
  .map(Number) as [number, number, number, number];

Deno.test("a policy for many agents → measured, each rule made and ended", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 100, peers });
    const costs = await measurePolicy(sql, { tags, agents, reach });
    console.log(JSON.stringify(costs, null, 1));
    assert.equal(costs.rules, agents * reach * (agents / tags));
    assert.equal(costs.others.length, 3);
    const [left] =
      await sql`select count(*)::integer as rules from mesh.rules where origin = 'policy'`;
    assert.equal(left?.["rules"], 0);
  });
});

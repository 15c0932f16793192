import assert from "node:assert/strict";
import { assertError, assertInvalid, type JsonObject, post, succeed } from "../client.ts";
import { artifactTest, download, leavesUnchanged, listed, open, publish } from "../artifacts.ts";

const FIELDS = [
  "abandoned",
  "expired",
  "forgotten_events",
  "orphaned",
  "orphans_held",
  "remaining",
  "removed_agents",
];

artifactTest(
  "/sweep by the operator → what it removed and what remains; a live artifact stays",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const swept = await succeed<JsonObject>("/agent-artifacts/sweep", { as: "operator" });
    assert.deepEqual(Object.keys(swept).sort(), FIELDS);
    for (const field of FIELDS) assert.ok(Number.isInteger(swept[field]), field);
    assert.deepEqual(await listed(planner), [artifact]);
    assert.equal(await download((await open(planner, artifact)).body.url), "hello");
  },
);

artifactTest(
  "/sweep by an agent → 403, by nobody → 401, and what the agent owns stays",
  async ({ planner }) => {
    await publish(planner);
    await leavesUnchanged([planner], async () => {
      assertError(await post("/agent-artifacts/sweep", { as: planner }), 403, "forbidden");
      assertError(await post("/agent-artifacts/sweep", { as: "nobody" }), 401, "unauthenticated");
    });
  },
);

Deno.test("/sweep with a limit outside 1 to 1000 → 422", async () => {
  for (const limit of [0, 1001, 1.5, "10", null]) {
    const answer = await post("/agent-artifacts/sweep", { as: "operator", body: { limit } });
    assertInvalid(answer, "limit");
  }
});

Deno.test("/sweep with remove_many_orphans that is not a boolean → 422", async () => {
  const body = { remove_many_orphans: "yes" };
  const answer = await post("/agent-artifacts/sweep", { as: "operator", body });
  assertInvalid(answer, "remove_many_orphans");
});

Deno.test("/sweep with limit 1 and 1000 → 200", async () => {
  for (const limit of [1, 1000]) {
    await succeed("/agent-artifacts/sweep", { as: "operator", body: { limit } });
  }
});

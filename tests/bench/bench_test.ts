import assert from "node:assert/strict";
import { agentKeyOf, peerIdOf, sha256 } from "./fill/cast.ts";
import { fill } from "./fill/fill.ts";
import { measureThroughput, OPERATIONS } from "./parts/throughput.ts";
import { type BenchStack, startBenchStack } from "./stack/bench_stack.ts";

/** Runs `use` while other changes of the agent hold all of its turns (advisory locks). */
async function whileTurnsAreTaken(
  { sql }: BenchStack,
  agentId: string,
  use: () => Promise<void>,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`
      select pg_advisory_xact_lock(hashtextextended('mesh turn ' || turn || ' of ' || ${agentId}, 0))
      from generate_series(1, 4) turn`;
    await use();
  });
}

Deno.test("deno task bench, each operation a few times → every call is answered, and each bare one beside it", async () => {
  await using stack = await startBenchStack();
  const size = { artifacts: 1_000, peers: 100 };
  await fill(stack.sql, size);
  const effort = { turns: 1, callsOfOneClient: 2, callsOfSixteen: 16 };
  const measured = await measureThroughput({ stack, size }, effort, () => {});

  // load() repeats a request that the bare function refuses in this way.
  await whileTurnsAreTaken(stack, peerIdOf(0), async () => {
    const response = await fetch(`${stack.url}/functions/v1/bare/rpc/remove_peer`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        caller: {
          kind: "agent",
          key_hash: sha256(agentKeyOf(peerIdOf(0))),
          request_id: "bench",
        },
        agent_id: peerIdOf(0),
      }),
    });
    assert.deepEqual([response.status, (await response.json()).code], [503, "PT503"]);
  });

  const named = new Set(measured.map(({ operation }) => operation));
  assert.ok(named.size > 15, `${named.size} operations`);
  const withFloor = OPERATIONS.filter(({ floor, name }) => floor !== null && named.has(name));
  assert.deepEqual(
    new Set(measured.filter(({ ofFloor }) => ofFloor !== null).map(({ operation }) => operation)),
    new Set(withFloor.map(({ name }) => name)),
  );
});

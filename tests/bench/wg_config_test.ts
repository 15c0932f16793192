import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { withLargeMesh } from "../database/large_mesh.ts";

const CALLS = 15;
/** Ten times the size may take ten times as long, and some more for what grows slightly faster; not a hundred times. */
const MAX_RATIO = 20;

Deno.test("/wg_config with 1,000 peers and 5,000 rules → not much more than ten times as long as with a tenth", async () => {
  const small = await medianMilliseconds({ peers: 100, rulesPerPeer: 5 });
  const large = await medianMilliseconds({ peers: 1_000, rulesPerPeer: 5 });
  const ratio = large / small;
  console.log(
    `/wg_config: ${small.toFixed(1)} ms with 100 peers and 500 rules, ` +
      `${large.toFixed(1)} ms with 1,000 and 5,000; ratio ${ratio.toFixed(1)}`,
  );
  assert.ok(ratio < MAX_RATIO, `ratio ${ratio}`);
});

/** The median time of one request after the first, which makes the PSKs. */
async function medianMilliseconds(size: { peers: number; rulesPerPeer: number }): Promise<number> {
  const times: number[] = [];
  await withLargeMesh(size, async ({ agentId }) => {
    const request = { as: "operator" as const, body: { agent_id: agentId } };
    await succeed("/agent-mesh/wg_config", request);
    for (let call = 0; call < CALLS; call++) {
      const startedAt = performance.now();
      await succeed("/agent-mesh/wg_config", request);
      times.push(performance.now() - startedAt);
    }
  });
  return times.sort((one, other) => one - other)[Math.floor(CALLS / 2)]!;
}

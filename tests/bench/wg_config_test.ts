import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { withLargeMesh } from "../database/large_mesh.ts";
import { median, milliseconds } from "./timing.ts";

const CALLS = 15;
/** Ten times the size may take ten times as long and a little more, but not a hundred times. */
const MAX_RATIO = 20;

Deno.test("/wg_config of 1,000 peers → less than 20 times as long as of 100", async () => {
  const small = await medianMilliseconds({ peers: 100, rulesPerPeer: 5 });
  const large = await medianMilliseconds({ peers: 1_000, rulesPerPeer: 5 });
  const ratio = large / small;
  console.log(
    `/wg_config: ${small.toFixed(1)} ms with 100 peers and 500 rules, ` +
      `${large.toFixed(1)} ms with 1,000 and 5,000; ratio ${ratio.toFixed(1)}`,
  );
  assert.ok(ratio < MAX_RATIO, `ratio ${ratio}`);
});

/** The median time of a request. The first one, which makes the PSKs, does not count. */
async function medianMilliseconds(size: { peers: number; rulesPerPeer: number }): Promise<number> {
  const times: number[] = [];
  await withLargeMesh(size, async ({ agentId }) => {
    const request = { as: "operator" as const, body: { agent_id: agentId } };
    await succeed("/agent-mesh/wg_config", request);
    for (let call = 0; call < CALLS; call++) {
      times.push(await milliseconds(() => succeed("/agent-mesh/wg_config", request)));
    }
  });
  return median(times);
}

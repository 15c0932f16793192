import assert from "node:assert/strict";
import { type Netmap, valuesOf, type WgConfig } from "../../conformance/mesh_cast.ts";
import { succeed } from "../../conformance/client.ts";
import { withLargeMesh } from "./large_mesh.ts";

Deno.test("a map with 1,001 peers → complete, in /netmap and in /wg_config, in byte order", async () => {
  await withLargeMesh({ peers: 1_000, rulesPerPeer: 2 }, async ({ agentId, peerIds }) => {
    const request = { as: "operator" as const, body: { agent_id: agentId } };
    const map = await succeed<Netmap>("/agent-mesh/netmap", request);
    assert.deepEqual(
      map.peers.map(({ agent_id }) => agent_id),
      [agentId, ...peerIds].sort(),
    );
    assert.equal(map.acls.length, 2_000);

    const config = await succeed<WgConfig>("/agent-mesh/wg_config", request);
    const commented = Array.from(config.config.matchAll(/^\[Peer\]\n# (.*)$/gm), ([, id]) => id);
    assert.deepEqual(commented, peerIds.toSorted());
    assert.equal(new Set(valuesOf("PresharedKey", config)).size, 1_000);
    assert.deepEqual(await succeed<WgConfig>("/agent-mesh/wg_config", request), config);
  });
});

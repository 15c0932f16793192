import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Netmap, valuesOf, type WgConfig } from "../conformance/mesh_cast.ts";
import { succeed } from "../conformance/client.ts";
import { withLargeMesh } from "./large_mesh.ts";

Deno.test("a map with 1,001 peers → complete, in /netmap and in /wg_config, in byte order", async () => {
  await withLargeMesh({ peers: 1_000, rulesPerPeer: 2 }, async ({ agentId, peerIds }) => {
    const request = { as: "operator" as const, body: { agent_id: agentId } };
    const map = await succeed<Netmap>("/agent-mesh/netmap", request);
    deepStrictEqual(
      map.peers.map(({ agent_id }) => agent_id),
      [agentId, ...peerIds].sort(),
    );
    strictEqual(map.acls.length, 2_000);

    const config = await succeed<WgConfig>("/agent-mesh/wg_config", request);
    const commented = Array.from(config.config.matchAll(/^\[Peer\]\n# (.*)$/gm), ([, id]) => id);
    deepStrictEqual(commented, peerIds.toSorted());
    strictEqual(new Set(valuesOf("PresharedKey", config)).size, 1_000);
    deepStrictEqual(await succeed<WgConfig>("/agent-mesh/wg_config", request), config);
  });
});

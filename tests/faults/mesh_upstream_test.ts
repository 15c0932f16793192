import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import {
  configOf,
  leavesUnchanged,
  meshTest,
  netmapOf,
  pairUp,
  valuesOf,
  type WgConfig,
} from "../conformance/mesh_cast.ts";
import { startOwnMeshFunction } from "../own_function/mesh_function.ts";
import { failing, overloaded, startProxy } from "../own_function/proxy.ts";

meshTest(
  "/wg_config while the PSKs cannot be stored → 503, none is made; repeated → 200",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using proxy = startProxy(SUPABASE_URL, failing("/rpc/agent_api_store_psks"));
    await using own = await startOwnMeshFunction(proxy.url);
    const failed = await own.post("/wg_config", { as: alice, body: {} });
    assertError(failed, 503, "upstream_unavailable");
    const versions = (await netmapOf(alice)).peers.map(({ psk_version }) => psk_version);
    assert.deepEqual(versions, [null, null]);

    proxy.letPass();
    const repeated = await own.post<WgConfig>("/wg_config", { as: alice, body: {} });
    assert.equal(repeated.status, 200);
    assert.deepEqual(
      valuesOf("PresharedKey", repeated.body),
      valuesOf("PresharedKey", await configOf(bob)),
    );
  },
);

meshTest(
  "/netmap and /wg_config while the database fails → 503, never a smaller map or configuration",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await leavesUnchanged([alice, bob], async () => {
      for (const broken of [overloaded(), new Response("", { status: 502 })]) {
        await using proxy = startProxy(SUPABASE_URL, () => broken.clone());
        await using own = await startOwnMeshFunction(proxy.url);
        for (const path of ["/netmap", "/wg_config"]) {
          const answer = await own.post(path, { as: alice, body: {} });
          assertError(answer, 503, "upstream_unavailable");
        }
      }
    });
  },
);

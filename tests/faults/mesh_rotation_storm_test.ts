import assert from "node:assert/strict";
import { type Agent, SUPABASE_URL } from "../conformance/client.ts";
import {
  configOf,
  join,
  meshTest,
  pairUp,
  rotate,
  valuesOf,
  type WgConfig,
} from "../conformance/mesh_cast.ts";
import { startOwnMeshFunction } from "../own_function/mesh_function.ts";
import { startProxy } from "../own_function/proxy.ts";

const STORE_PSKS = "/rest/v1/rpc/store_psks";

/** How a peer can replace the PSK that it shares with the hub. */
const REPLACEMENTS: Readonly<Record<string, (peer: Agent, hub: Agent) => Promise<unknown>>> = {
  "rotates": (peer, hub) => rotate(peer, peer, hub),
  "registers another pubkey": (peer) => join(peer),
};

for (const [replaces, replace] of Object.entries(REPLACEMENTS)) {
  meshTest(
    `a peer ${replaces} and has the PSK made, twice, whenever the hub stores one → the hub gets its configuration all the same`,
    async ({ alice: hub, bob: peer }) => {
      await pairUp(hub, peer);
      let storms = 0;
      await using proxy = startProxy(SUPABASE_URL, async ({ path }) => {
        if (path !== STORE_PSKS) return;
        storms++;
        for (let time = 0; time < 2; time++) {
          await configOf(peer);
          await replace(peer, hub);
        }
      });
      await using own = await startOwnMeshFunction(proxy.url);
      const { status, body } = await own.post<WgConfig>("/wg_config", { as: hub, body: {} });
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(storms > 0, "the storm met the storing");
      assert.deepEqual(
        valuesOf("PresharedKey", body),
        valuesOf("PresharedKey", await configOf(peer)),
      );
    },
  );

  meshTest(
    `a peer ${replaces} without end → every /wg_config of the hub is a 200`,
    async ({ alice: hub, bob: peer }) => {
      await pairUp(hub, peer);
      let storming = true;
      const storm = Promise.all([
        repeatWhile(() => storming, () => replace(peer, hub)),
        repeatWhile(() => storming, () => configOf(peer)),
      ]);
      const psks = new Set<string>();
      // Until replacements have really come in between, ten times.
      while (psks.size < 10) {
        for (const psk of valuesOf("PresharedKey", await configOf(hub))) psks.add(psk);
      }
      storming = false;
      await storm;
      assert.deepEqual(
        valuesOf("PresharedKey", await configOf(hub)),
        valuesOf("PresharedKey", await configOf(peer)),
      );
    },
  );
}

async function repeatWhile(goesOn: () => boolean, act: () => Promise<unknown>): Promise<void> {
  while (goesOn()) await act();
}

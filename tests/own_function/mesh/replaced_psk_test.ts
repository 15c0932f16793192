import assert from "node:assert/strict";
import { type Agent, SUPABASE_URL } from "../../conformance/client.ts";
import {
  configOf,
  join,
  meshTest,
  netmapOf,
  pairUp,
  rotate,
  valuesOf,
  type WgConfig,
} from "../../conformance/mesh_cast.ts";
import { startOwnMeshFunction } from "../mesh_function.ts";
import { gate, holding, startProxy } from "../proxy.ts";

const STORE_PSKS = "/rest/v1/rpc/agent_api_store_psks";

meshTest(
  "/psk/rotate while the pair's first PSK is being stored → both sides get the second",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const storing = gate();
    await using proxy = startProxy(SUPABASE_URL, holding(STORE_PSKS, storing));
    await using own = await startOwnMeshFunction(proxy.url);
    const slow = own.post<WgConfig>("/wg_config", { as: alice, body: {} });
    await storing.arrived;
    const first = await configOf(bob);
    assert.equal((await rotate(bob, alice, bob)).status, 200);
    storing.open();

    const { status, body } = await slow;
    assert.equal(status, 200);
    const second = await configOf(bob);
    assert.deepEqual(valuesOf("PresharedKey", body), valuesOf("PresharedKey", second));
    assert.notEqual(valuesOf("PresharedKey", first)[0], valuesOf("PresharedKey", second)[0]);
    assert.equal(body.config_version, (await netmapOf(alice)).config_version);
  },
);

/** The operations with which a peer can replace the PSK that it shares with the hub. */
const REPLACEMENTS: Readonly<Record<string, (peer: Agent, hub: Agent) => Promise<unknown>>> = {
  "/psk/rotate": (peer, hub) => rotate(peer, peer, hub),
  "/peer/register with another pubkey": (peer) => join(peer),
};

for (const [operation, replace] of Object.entries(REPLACEMENTS)) {
  meshTest(
    `/wg_config of a hub while a peer twice replaces each PSK by ${operation} → 200, the last PSK`,
    async ({ alice: hub, bob: peer }) => {
      await pairUp(hub, peer);
      let replacements = 0;
      await using proxy = startProxy(SUPABASE_URL, async ({ path }) => {
        if (path !== STORE_PSKS) return;
        for (let time = 0; time < 2; time++) {
          await configOf(peer);
          await replace(peer, hub);
          replacements++;
        }
      });
      await using own = await startOwnMeshFunction(proxy.url);
      const { status, body } = await own.post<WgConfig>("/wg_config", { as: hub, body: {} });
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(replacements > 0, "some came while the hub's PSK was being stored");
      assert.deepEqual(
        valuesOf("PresharedKey", body),
        valuesOf("PresharedKey", await configOf(peer)),
      );
    },
  );

  meshTest(
    `/wg_config of a hub while a peer goes on with ${operation} → 200 every time`,
    async ({ alice: hub, bob: peer }) => {
      await pairUp(hub, peer);
      let goesOn = true;
      const peersRequests = Promise.all([
        repeatWhile(() => goesOn, () => replace(peer, hub)),
        repeatWhile(() => goesOn, () => configOf(peer)),
      ]);
      peersRequests.catch(() => {});
      const psks = new Set<string>();
      try {
        // Until the hub has seen ten different PSKs.
        while (psks.size < 10) {
          for (const psk of valuesOf("PresharedKey", await configOf(hub))) psks.add(psk);
        }
      } finally {
        goesOn = false;
        await peersRequests;
      }
      assert.deepEqual(
        valuesOf("PresharedKey", await configOf(hub)),
        valuesOf("PresharedKey", await configOf(peer)),
      );
    },
  );
}

meshTest(
  "/wg_config of a hub while two neighbours replace their PSKs in turns, and more often than anybody counts → 200 in two rounds",
  async ({ alice: hub, bob, carol }) => {
    for (const peer of [bob, carol]) await pairUp(hub, peer);
    await configOf(carol);
    let rounds = 0;
    await using proxy = startProxy(SUPABASE_URL, async ({ path }) => {
      if (path !== STORE_PSKS) return;
      // While the hub's PSKs are being stored, `ready`, which already has a PSK, replaces it. The
      // rotations of `other` raise the versions.
      const [other, ready] = rounds++ % 2 === 0 ? [bob, carol] : [carol, bob];
      for (let time = 0; time < 20; time++) {
        await configOf(other);
        await rotate(other, other, hub);
      }
      await configOf(ready);
      await rotate(ready, ready, hub);
    });
    await using own = await startOwnMeshFunction(proxy.url);
    const { status, body } = await own.post<WgConfig>("/wg_config", { as: hub, body: {} });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(rounds, 2);
    const others = [await configOf(bob), await configOf(carol)];
    assert.deepEqual(
      valuesOf("PresharedKey", body).toSorted(),
      others.flatMap((config) => valuesOf("PresharedKey", config)).toSorted(),
    );
  },
);

async function repeatWhile(goesOn: () => boolean, act: () => Promise<unknown>): Promise<void> {
  while (goesOn()) await act();
}

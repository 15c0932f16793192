import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import {
  agree,
  configOf,
  join,
  meshTest,
  netmapOf,
  newPubkey,
  pairUp,
  rotate,
  ruleBetween,
  valuesOf,
  type WgConfig,
} from "../conformance/mesh_cast.ts";
import { startOwnMeshFunction } from "./mesh_function.ts";
import { gate, startProxy } from "./proxy.ts";

const STORE_PSKS = "/rest/v1/rpc/store_psks";

meshTest(
  "each mesh operation costs one call; the first /wg_config of a pair costs two",
  async ({ alice, bob }) => {
    await join(bob);
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnMeshFunction(proxy.url);
    const callsOf = async (path: string, body: object) => {
      proxy.passed.length = 0;
      const answer = await own.post(path, { as: alice, body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return proxy.passed.map(({ path }) => path.replace("/rest/v1/rpc/", ""));
    };

    const agent = { agent_id: alice.id };
    const rule = ruleBetween(alice, bob);
    const registration = { ...agent, pubkey: newPubkey() };
    assert.deepEqual(await callsOf("/peer/register", registration), ["register_peer"]);
    assert.deepEqual(await callsOf("/acl/put", rule), ["put_rule"]);
    await agree(rule);
    assert.deepEqual(await callsOf("/wg_config", {}), ["read_wg_config", "store_psks"]);
    assert.deepEqual(await callsOf("/wg_config", {}), ["read_wg_config"]);
    assert.deepEqual(await callsOf("/netmap", {}), ["read_netmap"]);
    assert.deepEqual(await callsOf("/peer/heartbeat", agent), ["record_heartbeat"]);
    assert.deepEqual(await callsOf("/psk/rotate", { a: alice.id, b: bob.id }), ["rotate_psk"]);
    assert.deepEqual(await callsOf("/acl/revoke", rule), ["revoke_rule"]);
    assert.deepEqual(await callsOf("/peer/remove", agent), ["remove_peer"]);
  },
);

meshTest(
  "a PSK that is rotated while the first one is being stored → both sides get the second",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const storing = gate();
    await using proxy = startProxy(
      SUPABASE_URL,
      ({ path }) => path === STORE_PSKS ? storing.wait() : undefined,
    );
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

meshTest(
  "the database fails between reading and storing → 503, and the same request repeated succeeds",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using proxy = startProxy(
      SUPABASE_URL,
      ({ path }) => path === STORE_PSKS ? new Response("overloaded", { status: 503 }) : undefined,
    );
    await using own = await startOwnMeshFunction(proxy.url);
    const failed = await own.post("/wg_config", { as: alice, body: {} });
    assertError(failed, 503, "upstream_unavailable");
    proxy.intercept(() => {});
    const repeated = await own.post<WgConfig>("/wg_config", { as: alice, body: {} });
    assert.deepEqual(
      valuesOf("PresharedKey", repeated.body),
      valuesOf("PresharedKey", await configOf(bob)),
    );
  },
);

meshTest(
  "the database fails while a map or a configuration is read → 503, never a smaller one",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    const broken = [new Response("overloaded", { status: 503 }), new Response("", { status: 502 })];
    for (const response of broken) {
      await using proxy = startProxy(SUPABASE_URL, () => response.clone());
      await using own = await startOwnMeshFunction(proxy.url);
      for (const path of ["/netmap", "/wg_config"]) {
        const answer = await own.post(path, { as: alice, body: {} });
        assertError(answer, 503, "upstream_unavailable");
      }
    }
  },
);

import assert from "node:assert/strict";
import { RENDERING_REVISION } from "../../../supabase/functions/_shared/operations/waiting/config_version.ts";
import { operatorRpc, SUPABASE_URL } from "../../conformance/client.ts";
import {
  agree,
  join,
  meshTest,
  type Netmap,
  netmapOf,
  newPubkey,
  ruleBetween,
} from "../../conformance/mesh_cast.ts";
import { startOwnMeshFunction } from "../mesh_function.ts";
import { startProxy } from "../proxy.ts";

meshTest(
  "each operation of the mesh group → one call; the first /wg_config of a pair → two",
  async ({ alice, bob }) => {
    await join(bob);
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnMeshFunction(proxy.url);
    const callsOf = async (path: string, body: object) => {
      proxy.passed.length = 0;
      const answer = await own.post(path, { as: alice, body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return proxy.passed.map(({ path }) => path.replace("/rest/v1/rpc/agent_api_", ""));
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
    assert.deepEqual(await callsOf("/peer/heartbeat", { wait_seconds: 50 }), ["record_heartbeat"]);
    assert.deepEqual(await callsOf("/events", {}), ["list_events"]);
    assert.deepEqual(await callsOf("/psk/rotate", { a: alice.id, b: bob.id }), ["rotate_psk"]);
    assert.deepEqual(await callsOf("/acl/revoke", rule), ["revoke_rule"]);
    assert.deepEqual(await callsOf("/peer/remove", agent), ["remove_peer"]);
  },
);

meshTest(
  "read_netmap as a function of an earlier release calls it → the map, with the database's own version",
  async ({ alice }) => {
    await join(alice);
    const { body } = await operatorRpc<Netmap>("read_netmap", {
      caller: { kind: "operator", request_id: "test" },
      agent_id: alice.id,
      online_seconds: 90,
    });
    const map = await netmapOf(alice);
    assert.deepEqual(body, {
      ...map,
      config_version: map.config_version - RENDERING_REVISION,
    });
  },
);

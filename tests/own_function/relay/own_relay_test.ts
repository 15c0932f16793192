import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Agent, assertError, operatorRpc } from "../../conformance/client.ts";
import { join, leavesUnchanged, meshTest } from "../../conformance/mesh_cast.ts";
import { stackEncryptionKeys } from "../mesh_function.ts";
import { startOwnFunction } from "../own_function.ts";
import { askRelay, OWN_RELAY, type RelayAnswer, TURN_SECRET } from "./relays.ts";

const HOUR_IN_SECONDS = 3600;

/** Asserts that the TURN servers accept these credentials for the given name, for an hour. */
function assertTaken({ ice_servers, expires_at }: RelayAnswer, name: string): void {
  const [{ urls, username, credential } = assert.fail("no server"), ...others] = ice_servers;
  assert.deepEqual(others, []);
  assert.deepEqual(urls, OWN_RELAY.MESH_TURN_URLS.split(","));
  const [, until, whose] = /^(\d+):(.+)$/.exec(username) ?? [];
  assert.equal(whose, name);
  assert.equal(Number(until) * 1000, Date.parse(expires_at));
  const left = Number(until) - Date.now() / 1000;
  assert.ok(left <= HOUR_IN_SECONDS && left > HOUR_IN_SECONDS - 600, String(left));
  assert.equal(credential, createHmac("sha1", TURN_SECRET).update(username).digest("base64"));
}

meshTest(
  "/relay of an agent → credentials for an hour, in the name of its address and of nothing else",
  async ({ alice, bob }) => {
    await using own = await startOwnFunction({ name: "agent-mesh", environment: OWN_RELAY });
    for (const agent of [alice, bob]) {
      const { addresses: [ipv4] } = await join(agent);
      const { status, body } = await askRelay(own, agent);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(Object.keys(body).sort(), ["expires_at", "ice_servers"]);
      assert.deepEqual(Object.keys(body.ice_servers[0]!).sort(), [
        "credential",
        "urls",
        "username",
      ]);
      assertTaken(body, ipv4);
      assert.ok(!JSON.stringify(body).includes(agent.id));
      assertTaken((await askRelay(own, "operator", { agent_id: agent.id })).body, ipv4);
    }
    const log = await readFile(own.logFile, "utf8");
    assert.ok(log.includes("/relay"));
    assert.ok(!log.includes(TURN_SECRET));
  },
);

meshTest(
  "/relay of the operator without an agent → credentials of its own; of nobody, and of a third agent → 401, 403",
  async ({ alice, carol }) => {
    await using own = await startOwnFunction({ name: "agent-mesh", environment: OWN_RELAY });
    await join(alice);
    assertTaken((await askRelay(own, "operator")).body, "operator");
    await leavesUnchanged([alice], async () => {
      const refused = await askRelay(own, carol, { agent_id: alice.id });
      assertError(refused, 403, "forbidden");
      await operatorRpc("revoke_agent_keys", { agent_id: carol.id });
      assertError(await askRelay(own, carol), 401, "unauthenticated");
    });
  },
);

meshTest(
  "/wg_config as json, where a relay is set → relay is true; elsewhere false",
  async ({ alice }) => {
    await join(alice);
    for (const [environment, relay] of [[OWN_RELAY, true], [{}, false]] as const) {
      await using own = await startOwnFunction({
        name: "agent-mesh",
        environment: { ...environment, PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() },
      });
      const body = { format: "json" };
      const answer = await own.post<{ relay: boolean }>("/wg_config", { as: alice, body });
      assert.equal(answer.body.relay, relay, JSON.stringify(answer.body));
    }
  },
);

meshTest("/relay without a peer → 404, until the agent has one", async ({ alice, bob }) => {
  await using own = await startOwnFunction({ name: "agent-mesh", environment: OWN_RELAY });
  await leavesUnchanged([bob], async () => {
    assertError(await askRelay(own, alice), 404, "peer_not_found");
    const body = { agent_id: alice.id };
    assertError(await askRelay(own, "operator", body), 404, "peer_not_found");
  });
  await join(alice);
  assert.equal((await askRelay(own, alice)).status, 200);
});

meshTest("/relay where no relay is set → 503, and what it is about", async ({ alice, carol }) => {
  await using own = await startOwnFunction({ name: "agent-mesh" });
  await join(alice);
  const refused = await askRelay(own, alice);
  assert.deepEqual(assertError(refused, 503, "misconfigured"), { relay: "none" });
  assert.match(JSON.stringify(refused.body), /has no relay\. MESH_TURN_URLS and MESH_TURN_SECRET/);
  // A caller that may not ask learns nothing about the setting.
  assertError(await askRelay(own, carol, { agent_id: alice.id }), 403, "forbidden");
});

/** Repeats the request until it is refused. */
async function askTooOften(ask: () => ReturnType<typeof askRelay>) {
  for (let asked = 0; asked < 50; asked++) {
    const answer = await ask();
    if (answer.status !== 200) return answer;
  }
  return assert.fail("50 requests in a row");
}

meshTest(
  "/relay again and again → 409 for this agent, by whichever key; not for others, nor the operator",
  async ({ alice, bob }) => {
    await using own = await startOwnFunction({ name: "agent-mesh", environment: OWN_RELAY });
    await join(alice);
    await join(bob);
    const { key, key_id } = (await operatorRpc<{ key: string; key_id: string }>(
      "create_agent_key",
      { agent_id: alice.id },
    )).body;
    const again: Agent = { ...alice, key, keyId: key_id };
    const refused = await askTooOften(() => askRelay(own, alice));
    assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
      limit: "relay_requests_per_minute",
      maximum: 10,
    });
    assertError(await askRelay(own, again), 409, "limit_exceeded");
    assert.equal((await askRelay(own, bob)).status, 200);
    for (let asked = 0; asked < 20; asked++) {
      assert.equal((await askRelay(own, "operator", { agent_id: alice.id })).status, 200);
    }
  },
);

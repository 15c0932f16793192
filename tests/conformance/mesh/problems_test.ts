import assert from "node:assert/strict";
import { type Agent, assertInvalid, post, succeed } from "../client.ts";
import {
  agree,
  configVersionOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  pairUp,
  ruleBetween,
} from "../mesh_cast.ts";

const TAKEN = { code: "network_taken", network: "172.17.0.0/16" };

async function problemOf(agent: Agent, seenBy: Agent): Promise<unknown> {
  const { peers } = await netmapOf(seenBy);
  return peers.find(({ agent_id }) => agent_id === agent.id)?.problem;
}

function report(as: Agent, body: object): Promise<unknown> {
  return succeed("/agent-mesh/peer/heartbeat", { as, body });
}

meshTest(
  "a heartbeat with a problem → the agent and its neighbours see it, and no others; no version rises",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    await join(carol);
    await agree(ruleBetween(bob, carol));
    const versions = () => Promise.all([alice, bob].map(configVersionOf));
    const before = await versions();
    for (const network of [TAKEN.network, null]) {
      await report(alice, { problem: { ...TAKEN, network } });
      for (const seenBy of [alice, bob]) {
        assert.deepEqual(await problemOf(alice, seenBy), { ...TAKEN, network });
      }
      assert.equal(await problemOf(bob, alice), null);
      assert.ok(!JSON.stringify(await netmapOf(carol)).includes("network_taken"));
    }
    assert.deepEqual(await versions(), before);
  },
);

for (
  const operation of ["/agent-mesh/peer/heartbeat", "/agent-mesh/wait", "/agent-artifacts/wait"]
) {
  meshTest(
    `a problem, then ${operation} without a config_version → it stays; with one → it is gone`,
    async ({ alice, bob }) => {
      await pairUp(alice, bob);
      await report(alice, { config_version: 0, problem: TAKEN });
      await succeed(operation, { as: alice });
      assert.deepEqual(await problemOf(alice, bob), TAKEN);
      await succeed(operation, { as: alice, body: { config_version: 0 } });
      assert.equal(await problemOf(alice, bob), null);
    },
  );
}

meshTest(
  "a problem with bits after the prefix → the network; the same problem again → the same",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    for (const network of ["172.17.3.4/16", "172.17.0.0/16"]) {
      await report(alice, { problem: { ...TAKEN, network } });
      assert.deepEqual(await problemOf(alice, bob), TAKEN);
    }
  },
);

for (
  const [what, problem, issue] of [
    ["a text in place of it", "network_taken", "problem"],
    ["no code", { network: null }, "problem.code"],
    ["an unknown code", { ...TAKEN, code: "tired" }, "problem.code"],
    ["no network", { code: TAKEN.code }, "problem.network"],
    ["a name", { ...TAKEN, network: "docker0" }, "problem.network"],
    ["an address", { ...TAKEN, network: "172.17.0.1" }, "problem.network"],
    ["a number above 255", { ...TAKEN, network: "172.256.0.0/16" }, "problem.network"],
    ["33 bits", { ...TAKEN, network: "172.17.0.0/33" }, "problem.network"],
    ["octal", { ...TAKEN, network: "0172.17.0.0/16" }, "problem.network"],
    ["IPv6", { ...TAKEN, network: "fd00::/64" }, "problem.network"],
    ["a line break", { ...TAKEN, network: "172.17.0.0/16\n" }, "problem.network"],
    ["a further field", { ...TAKEN, device: "docker0" }, "problem.device"],
  ] as const
) {
  meshTest(`a problem with ${what} → 422, nothing changes`, async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await report(alice, { problem: TAKEN });
    await leavesUnchanged([alice, bob], async () => {
      const answer = await post("/agent-mesh/peer/heartbeat", { as: alice, body: { problem } });
      assertInvalid(answer, issue);
    });
  });
}

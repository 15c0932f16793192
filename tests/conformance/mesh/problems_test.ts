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

/** The operations that are heartbeats. */
const OPERATIONS = ["/agent-mesh/peer/heartbeat", "/agent-mesh/wait", "/agent-artifacts/wait"];

async function problemOf(agent: Agent, seenBy: Agent): Promise<unknown> {
  const { peers } = await netmapOf(seenBy);
  return peers.find(({ agent_id }) => agent_id === agent.id)?.problem;
}

for (const operation of OPERATIONS) {
  meshTest(
    `${operation} with a problem → it and its neighbours see it, and no others; the next one without → gone; no version rises`,
    async ({ alice, bob, carol }) => {
      await pairUp(alice, bob);
      await join(carol);
      await agree(ruleBetween(bob, carol));
      const versions = () => Promise.all([alice, bob].map(configVersionOf));
      const before = await versions();
      for (const network of [TAKEN.network, null]) {
        await succeed(operation, { as: alice, body: { problem: { ...TAKEN, network } } });
        for (const seenBy of [alice, bob]) {
          assert.deepEqual(await problemOf(alice, seenBy), { ...TAKEN, network });
        }
        assert.equal(await problemOf(bob, alice), null);
        assert.ok(!JSON.stringify(await netmapOf(carol)).includes("network_taken"));
      }
      await succeed(operation, { as: alice });
      assert.equal(await problemOf(alice, bob), null);
      assert.deepEqual(await versions(), before);
    },
  );
}

meshTest(
  "a problem with bits after the prefix → the network; the same problem again → the same",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    for (const network of ["172.17.3.4/16", "172.17.0.0/16"]) {
      await succeed(OPERATIONS[0]!, { as: alice, body: { problem: { ...TAKEN, network } } });
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
    await succeed(OPERATIONS[0]!, { as: alice, body: { problem: TAKEN } });
    await leavesUnchanged([alice, bob], async () => {
      for (const operation of OPERATIONS) {
        assertInvalid(await post(operation, { as: alice, body: { problem } }), issue);
      }
    });
  });
}

import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { withStackDatabase } from "../database/connection.ts";
import { eventually } from "../wireguard/hosts/command.ts";
import {
  type Member,
  Mesh,
  servedConfiguration,
  TCP_443,
  TCP_80,
} from "../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { joinWithAgents } from "./reference_agent.ts";

async function lastSeen({ agent }: Member): Promise<string> {
  const { peers } = await succeed<{ peers: { self: boolean; last_seen: string }[] }>(
    "/agent-mesh/netmap",
    { as: agent },
  );
  return peers.find(({ self }) => self)!.last_seen;
}

tunnelTest(
  "a restore that gives one config_version to two texts → the host keeps the older one until after_restore(), then applies what there is",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(bob.host, TCP_443);
    await listen(bob.host, TCP_80);
    const at = (target: typeof TCP_443 | typeof TCP_80) =>
      reaches(alice.host, { ...target, address: bob.ipv4 });
    await eventually("alice reaches port 443", {
      condition: () => at(TCP_443),
    });
    await bob.meshAgent.untilApplied();

    // Simulate a restore and a later change: another rule, with the version that the hosts already
    // run.
    const served = await servedConfiguration(bob);
    await withStackDatabase(async (sql) => {
      await sql.begin(async (transaction) => {
        const operator = transaction.json({ kind: "operator", request_id: "test" });
        const [from, to] = [alice.agent.id, bob.agent.id];
        await transaction`
        create temporary table versions_before on commit drop as
        select * from mesh.config_versions where agent_id in (${from}, ${to})`;
        await transaction`select public.put_rule(${operator}, ${from}, ${to}, 80, 'tcp')`;
        await transaction`select public.revoke_rule(${operator}, ${from}, ${to}, 443, 'tcp')`;
        await transaction`
        update mesh.config_versions v set version = b.version
        from versions_before b where b.agent_id = v.agent_id`;
      });
    });
    assert.notEqual(await servedConfiguration(bob), served);
    const seen = await lastSeen(bob);
    await eventually("another heartbeat of bob", {
      condition: async () => await lastSeen(bob) > seen,
    });
    assert.deepEqual(
      [await at(TCP_443), await at(TCP_80)],
      [true, false],
      "nothing tells the host",
    );

    await withStackDatabase((sql) => sql`select public.after_restore()`);
    await bob.meshAgent.untilApplied();
    await alice.meshAgent.untilApplied();
    await eventually("alice reaches port 80", { withinSeconds: 30, condition: () => at(TCP_80) });
    assert.equal(await at(TCP_443), false);
  },
);

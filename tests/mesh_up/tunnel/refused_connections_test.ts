import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { bringUp, Mesh, putRule, TCP_443, TCP_80 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent } from "../hosts/host_agent.ts";

interface Heartbeat {
  readonly refused?: readonly {
    readonly agent_id: string;
    readonly port: number;
    readonly proto: string;
    readonly attempts: number;
  }[];
}

tunnelTest(
  "the operator asks for refused connections → the host reports what its firewall dropped, once; what it lets in, and what it is not asked for, it does not report",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await bringUp(alice, { firewall: "none" });
    const meshAgent = await HostAgent.start(bob, { mesh, pollSeconds: 1 });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const { door } = meshAgent;
    const reported = () =>
      (door.heartbeats as readonly Heartbeat[]).flatMap(({ refused }) => refused ?? []);
    const attempt = async () => {
      for (const address of [bob.ipv4, bob.ipv6]) {
        assert.equal(
          await reaches(alice.host, { ...TCP_80, address }, { withinSeconds: 1 }),
          false,
        );
      }
      const udp = { proto: "udp", port: 5353, address: bob.ipv4 } as const;
      assert.equal(await reaches(alice.host, udp, { withinSeconds: 1 }), false);
      // A rule allows it, but nothing listens there.
      await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }, { withinSeconds: 1 });
      const count = door.heartbeats.length;
      await eventually("bob has sent two more heartbeats", {
        condition: () => Promise.resolve(door.heartbeats.length >= count + 2),
      });
    };

    await attempt();
    assert.deepEqual(reported(), [], "nobody has asked");

    const answer = await succeed<object>("/agent-mesh/wg_config", {
      as: bob.agent,
      body: { format: "json" },
    });
    door.replaceAnswers({ "/wg_config": { ...answer, report_refused: true } });
    await meshAgent.stop("SIGTERM");
    meshAgent.restart();
    await eventually("bob's firewall counts", {
      condition: async () =>
        (await bob.host.runAnyhow(["nft", "list", "tables"])).success &&
        (await bob.host.run(["nft", "list", "ruleset"])).includes("refused_ipv4"),
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await attempt();
    const kinds = Object.groupBy(reported(), ({ proto, port }) => `${proto} ${port}`);
    assert.deepEqual(Object.keys(kinds).sort(), ["tcp 80", "udp 5353"]);
    for (const { agent_id, attempts } of reported()) {
      assert.equal(agent_id, alice.agent.id);
      assert.ok(attempts >= 1 && attempts <= 4, `${attempts} attempts`);
    }
    const before = reported().length;
    const count = door.heartbeats.length;
    await eventually("bob has sent two more heartbeats", {
      condition: () => Promise.resolve(door.heartbeats.length >= count + 2),
    });
    assert.equal(reported().length, before, "each is reported once");
  },
);

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { RestorableStack } from "../../long/restore/restorable_stack.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { type Deployment, Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent } from "../hosts/host_agent.ts";

const MESH = "/functions/v1/agent-mesh";

function deploymentOf(project: RestorableStack): Deployment {
  return {
    origin: project.stack.url,
    async createAgent(id) {
      const made = await project.ask("/rest/v1/rpc/agent_api_create_agent_key", { agent_id: id });
      return { id, key: made.key, keyId: made.key_id };
    },
    ask: (path, { as, body = {} }) =>
      project.ask(`/functions/v1${path}`, body as object, as === "operator" ? null : as.key),
  };
}

tunnelTest(
  "the database is restored, and another rule gets the config_version that the hosts run → they keep the rules of before until after-restore, then apply what there is",
  async () => {
    await using project = await RestorableStack.open();
    await using mesh = await Mesh.create(deploymentOf(project));
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    for (const port of [80, 443, 8443]) await listen(bob.host, { proto: "tcp", port });
    const open = (port: number) =>
      project.ask(`${MESH}/acl/put`, {
        from_agent: alice.agent.id,
        to_agent: bob.agent.id,
        proto: "tcp",
        port,
      });
    const reachable = async (): Promise<number[]> => {
      const target = { proto: "tcp", address: bob.ipv4 } as const;
      const ports = await Promise.all(
        [80, 443, 8443].map(async (port) =>
          await reaches(alice.host, { ...target, port }) ? [port] : []
        ),
      );
      return ports.flat();
    };
    const untilReachable = (ports: readonly number[]) =>
      eventually(`alice reaches ${ports}`, {
        condition: async () => isDeepStrictEqual(await reachable(), ports),
      });
    const served = (): Promise<{ config_version: number; config: string }> =>
      project.ask(`${MESH}/wg_config`, { agent_id: bob.agent.id });

    await open(443);
    await project.backUp();
    await open(80);
    const meshAgents = [
      await HostAgent.start(alice, { mesh }),
      await HostAgent.start(bob, { mesh }),
    ];
    await untilReachable([80, 443]);
    const before = await served();
    for (const meshAgent of meshAgents) {
      await meshAgent.untilApplied();
      meshAgent.pause();
    }

    await project.restore();
    await open(8443);
    const hazard = await served();
    assert.equal(hazard.config_version, before.config_version);
    assert.notEqual(hazard.config, before.config);
    for (const meshAgent of meshAgents) {
      const heartbeats = meshAgent.door.heartbeats.length;
      meshAgent.resume();
      await eventually("a heartbeat was answered, and another is sent", {
        condition: () => Promise.resolve(meshAgent.door.heartbeats.length >= heartbeats + 2),
      });
    }
    assert.deepEqual(await reachable(), [80, 443], "nothing tells the hosts");

    const { url, secretKey } = project.stack;
    const { code, output, errors } = await runTask("agentops restore after", {
      environment: { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey },
    });
    assert.equal(code, 0, output + errors);
    for (const meshAgent of meshAgents) await meshAgent.untilApplied();
    await untilReachable([443, 8443]);
  },
);

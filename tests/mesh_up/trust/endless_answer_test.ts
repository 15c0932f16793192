/** A service whose answer never ends, as far as the agent can tell. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { Mesh, putRule, TCP_80 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { joinWithAgents } from "../hosts/host_agent.ts";
import { endlessAnswer, largestFile, LONGEST_ANSWER_BYTES } from "./endless_answer.ts";

for (
  const [path, status] of [
    ["/peer/register", 200],
    ["/wait", 200],
    ["/wait", 503],
    ["/wg_config", 200],
  ] as const
) {
  tunnelTest(
    `${path}: ${status} and an answer without an end → the agent says so and keeps 16 MiB of it at most; the tunnel stays, later changes are applied`,
    async () => {
      await using mesh = await Mesh.create();
      const { alice, bob } = await joinWithAgents(mesh);
      const { door } = bob.meshAgent;
      await bob.meshAgent.stop("SIGKILL");
      door.failWith(path, () => endlessAnswer(status));
      bob.meshAgent.restart();
      await putRule({ from: alice, to: bob, ...TCP_80 });
      await eventually("the agent has said so", {
        condition: async () =>
          (await bob.meshAgent.readLog()).includes(`${path}: the answer is longer than 16 MiB`),
      });
      assert.ok(await largestFile(bob.host) <= LONGEST_ANSWER_BYTES);
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
      door.recover();
      await bob.meshAgent.untilApplied();
    },
  );
}

import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { HostAgent, joinWithAgents } from "../mesh_up/hosts/host_agent.ts";
import { Mesh, putRule, TCP_443 } from "../wireguard/hosts/mesh_of_hosts.ts";
import { Pings, untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { handshakeOf, pskOf, rotate, SESSION_LIFE_SECONDS } from "./pair.ts";

tunnelTest("/psk/rotate of two pairs that ping 10 times a second → no ping is lost", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh, { pollSeconds: 5 });
  const carol = await mesh.join("carol", { behindNat: true });
  await putRule({ from: carol, to: bob, ...TCP_443 });
  await HostAgent.start(carol, { mesh, pollSeconds: 5 });

  await Promise.all([alice, carol].map(async (member) => {
    await untilPingAnswered(member.host, { address: bob.ipv4 });
    const [oldPsk, oldHandshake] = [await pskOf(member, bob), await handshakeOf(member, bob)];
    const pings = Pings.start(member.host, bob.ipv4);
    const startedAt = performance.now();
    await rotate(member, bob);
    await eventually("both sides have the same new PSK", {
      condition: async () => {
        const psks = [await pskOf(member, bob), await pskOf(bob, member)];
        return psks[0] === psks[1] && psks[0] !== oldPsk;
      },
    });
    // A PSK takes effect with the handshake of the next session.
    await eventually("a new session began", {
      withinSeconds: SESSION_LIFE_SECONDS,
      condition: async () => await handshakeOf(member, bob) > oldHandshake,
    });
    await untilPingAnswered(bob.host, { address: member.ipv4 });
    const seconds = (performance.now() - startedAt) / 1000;
    const { sent, lost } = await pings.stop();
    assert.ok(seconds > 60 && sent > 8 * seconds, `${sent} pings in ${seconds} s`);
    assert.deepEqual(lost, []);
  }));
});

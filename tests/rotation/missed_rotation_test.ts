import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { joinWithAgents } from "../mesh_up/hosts/host_agent.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { answersPing, untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { handshakeOf, pskOf, rotate, SESSION_LIFE_SECONDS } from "./pair.ts";

tunnelTest(
  "a rotated PSK that one side does not fetch → the tunnel is lost; fetched → it is back",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const oldPsk = await pskOf(alice, bob);
    alice.meshAgent.pause();
    await rotate(alice, bob);
    await bob.meshAgent.untilApplied();
    const lastHandshake = await handshakeOf(alice, bob);

    assert.equal(await answersPing(alice.host, bob.ipv4), true);
    await eventually("the tunnel is lost", {
      withinSeconds: SESSION_LIFE_SECONDS + 30,
      condition: async () => !await answersPing(alice.host, bob.ipv4),
    });
    assert.equal(await handshakeOf(alice, bob), lastHandshake);
    assert.equal(await pskOf(alice, bob), oldPsk);

    alice.meshAgent.resume();
    await alice.meshAgent.untilApplied();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await pskOf(alice, bob), await pskOf(bob, alice));
    assert.notEqual(await pskOf(alice, bob), oldPsk);
  },
);

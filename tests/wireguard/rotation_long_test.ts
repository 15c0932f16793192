import assert from "node:assert/strict";
import { succeed } from "../conformance/service.ts";
import { eventually } from "./command.ts";
import { ExampleAgent, joinWithAgents } from "./example_agent.ts";
import { type Member, Mesh, peerField, putRule } from "./mesh.ts";
import { answersPing, Pings, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

/** WireGuard begins a new session after 120 s and gives the old one up after 180 s. */
const SESSION_LIFE_SECONDS = 180;

tunnelTest("/psk/rotate of two pairs that ping 10 times a second → none lost", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh, { pollSeconds: 5 });
  const carol = await mesh.join("carol", { behindNat: true });
  await putRule({ from: carol, to: bob, proto: "tcp", port: 443 });
  await ExampleAgent.start(carol, { mesh, pollSeconds: 5 });

  await Promise.all([alice, carol].map(async (member) => {
    await untilPingAnswered(member.host, { address: bob.ipv4 });
    const [oldPsk, oldHandshake] = [await pskOf(member, bob), await handshakeOf(member, bob)];
    const pings = Pings.start(member.host, bob.ipv4);
    await rotate(member, bob);
    await eventually("both sides have the same new PSK", {
      withinSeconds: 20,
      condition: async () => {
        const psks = [await pskOf(member, bob), await pskOf(bob, member)];
        return psks[0] === psks[1] && psks[0] !== oldPsk;
      },
    });
    // A PSK first counts in the handshake of the next session.
    await eventually("a new session began", {
      withinSeconds: SESSION_LIFE_SECONDS,
      condition: async () => await handshakeOf(member, bob) > oldHandshake,
    });
    await untilPingAnswered(bob.host, { address: member.ipv4 });
    const { sent, lost } = await pings.stop();
    assert.ok(sent > 1000, `${sent} pings`);
    assert.deepEqual(lost, []);
  }));
});

tunnelTest("a rotated PSK that one side does not fetch → tunnel lost; fetched → back", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  const oldPsk = await pskOf(alice, bob);
  alice.example.pause();
  await rotate(alice, bob);
  await bob.example.untilApplied();
  const lastHandshake = await handshakeOf(alice, bob);

  assert.equal(await answersPing(alice.host, bob.ipv4), true);
  await eventually("the tunnel is lost", {
    withinSeconds: SESSION_LIFE_SECONDS + 30,
    condition: async () => !await answersPing(alice.host, bob.ipv4),
  });
  assert.equal(await handshakeOf(alice, bob), lastHandshake);
  assert.equal(await pskOf(alice, bob), oldPsk);

  alice.example.resume();
  await alice.example.untilApplied();
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await pskOf(alice, bob), await pskOf(bob, alice));
  assert.notEqual(await pskOf(alice, bob), oldPsk);
});

function rotate(one: Member, other: Member): Promise<unknown> {
  const pair = { a: one.agent.id, b: other.agent.id };
  return succeed("/agent-mesh/psk/rotate", { as: one.agent, body: pair });
}

function pskOf(member: Member, peer: Member): Promise<string | undefined> {
  return peerField(member, { peer, field: "preshared-keys" });
}

/** Seconds since the epoch; 0 before the first. */
async function handshakeOf(member: Member, peer: Member): Promise<number> {
  return Number(await peerField(member, { peer, field: "latest-handshakes" }));
}

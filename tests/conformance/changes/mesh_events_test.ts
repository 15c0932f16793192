import assert from "node:assert/strict";
import {
  agree,
  configOf,
  join,
  meshTest,
  newPubkey,
  putRule,
  removePeer,
  revokeRule,
  rotate,
  ruleBetween,
} from "../mesh_cast.ts";
import type { Agent } from "../client.ts";
import { eventsOf, known, nextEvents, positionBehind } from "./feed.ts";

const GROUP = "agent-mesh";

function by(agent: Agent): { actor_kind: string; actor: string } {
  return { actor_kind: "agent", actor: agent.id };
}

const BY_OPERATOR = { actor_kind: "operator", actor: null };

meshTest(
  "/events of both sides of a rule → asked, agreed, seen, rotated, revoked, seen no more; of a third → nothing",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    const [ofAlice, ofBob] = await Promise.all(
      [alice, bob].map((agent) => positionBehind(GROUP, agent, "peer.registered")),
    );
    const ofCarol = await eventsOf(GROUP, carol);
    const rule = ruleBetween(alice, bob);
    await putRule(alice, rule);
    await putRule(bob, rule);
    await configOf(alice);
    await rotate(bob, alice, bob);
    await revokeRule(bob, rule);

    const [a, b] = [alice.id, bob.id].toSorted();
    const ofRule = { agent_id: alice.id, ...rule };
    const seen = (peer: Agent) => ({ agent_id: alice.id, peer: peer.id });
    const expected = (other: Agent) => [
      { type: "rule.requested", ...by(alice), ...ofRule },
      { type: "rule.activated", ...by(bob), ...ofRule },
      { type: "peer.appeared", ...by(bob), ...seen(other) },
      { type: "psk.rotated", ...by(bob), agent_id: a, a, b, psk_version: 2 },
      { type: "peer.vanished", ...by(bob), ...seen(other) },
      { type: "rule.revoked", ...by(bob), ...ofRule },
    ];
    const toAlice = await nextEvents(GROUP, alice, { after: ofAlice!, count: 6 });
    assert.deepEqual(known(toAlice.events), expected(bob));
    const toBob = await nextEvents(GROUP, bob, { after: ofBob!, count: 6 });
    assert.deepEqual(known(toBob.events), expected(alice));
    assert.deepEqual((await eventsOf(GROUP, carol, { after: ofCarol.latest })).events, []);
  },
);

meshTest(
  "/events around a second rule between two → it, and no peer that appears or vanishes",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const latest = await positionBehind(GROUP, alice, "rule.activated");
    const back = ruleBetween(bob, alice, { port: 22 });
    await agree(back);
    await revokeRule("operator", back);
    const { events } = await nextEvents(GROUP, alice, { after: latest, count: 2 });
    const ofRule = { ...BY_OPERATOR, agent_id: bob.id, ...back };
    assert.deepEqual(known(events), [
      { type: "rule.activated", ...ofRule },
      { type: "rule.revoked", ...ofRule },
    ]);
  },
);

meshTest(
  "/events as the rules of an agent without a peer are removed → these, and no peer that vanishes",
  async ({ alice, bob }) => {
    await join(bob);
    const rule = ruleBetween(alice, bob);
    await agree(rule);
    const latest = await positionBehind(GROUP, bob, "rule.activated");
    await removePeer("operator", alice.id);
    const later = ruleBetween(bob, alice, { port: 22 });
    await agree(later);
    const { events } = await nextEvents(GROUP, bob, { after: latest, count: 2 });
    assert.deepEqual(known(events), [
      { type: "rule.revoked", ...BY_OPERATOR, agent_id: alice.id, ...rule },
      { type: "rule.activated", ...BY_OPERATOR, agent_id: bob.id, ...later },
    ]);
    const own = await eventsOf(GROUP, alice, { types: ["peer.removed", "peer.vanished"] });
    assert.deepEqual(own.events, []);
  },
);

meshTest(
  "/events as peers register, change and leave → who sees them learns that they come and go, no more",
  async ({ alice, bob, carol }) => {
    await join(alice);
    const rule = ruleBetween(alice, bob);
    const request = ruleBetween(bob, carol);
    await agree(rule);
    const latest = await positionBehind(GROUP, alice, "rule.activated");
    const ofCarol = await eventsOf(GROUP, carol);
    const [first, second] = [newPubkey(), newPubkey()];
    await join(bob, { pubkey: first });
    await join(bob, { pubkey: second, endpoint: "203.0.113.7:51820" });
    await putRule(bob, request);
    await removePeer(bob, bob.id);

    const sight = { ...by(bob), agent_id: bob.id, peer: bob.id };
    const gone = { type: "rule.revoked", ...by(bob), agent_id: alice.id, ...rule };
    const toAlice = await nextEvents(GROUP, alice, { after: latest, count: 3 });
    assert.deepEqual(known(toAlice.events), [
      { type: "peer.appeared", ...sight },
      gone,
      { type: "peer.vanished", ...sight },
    ]);
    const toCarol = await nextEvents(GROUP, carol, { after: ofCarol.latest, count: 2 });
    const ofRequest = { ...by(bob), agent_id: bob.id, ...request };
    assert.deepEqual(known(toCarol.events), [
      { type: "rule.requested", ...ofRequest },
      { type: "rule.revoked", ...ofRequest },
    ]);
    const types = ["peer.registered", "peer.updated", "peer.removed", "peer.appeared"];
    const own = await eventsOf(GROUP, bob, { types });
    const ofBob = { ...by(bob), agent_id: bob.id };
    assert.deepEqual(known(own.events), [
      { type: "peer.registered", ...ofBob, pubkey: first },
      { type: "peer.appeared", ...ofBob, peer: alice.id },
      { type: "peer.updated", ...ofBob, pubkey: second, endpoint: "203.0.113.7:51820" },
      { type: "peer.removed", ...ofBob },
    ]);
  },
);

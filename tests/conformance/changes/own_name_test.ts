import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  type InboxPage,
  type ListPage,
  publish,
  tryRegister,
} from "../artifacts.ts";
import { assertInvalid, post, type Sender, succeed } from "../client.ts";
import { leavesUnchanged, meshTest, newPubkey, type Peer } from "../mesh_cast.ts";

artifactTest(
  "the artifact group without agent_id → the calling agent; by the operator → 422 that names it",
  async ({ planner, builder }) => {
    const registration = { key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    const registered = await tryRegister(planner, registration);
    assert.equal(registered.status, 200);
    assert.equal(registered.body.agent_id, planner.id);

    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const list = await succeed<ListPage>("/agent-artifacts/list", { as: planner });
    assert.deepEqual(list.artifacts, [artifact]);
    const inbox = await succeed<InboxPage>("/agent-artifacts/inbox", { as: builder });
    assert.deepEqual(inbox.grants.map(({ artifact_id }) => artifact_id), [artifact.artifact_id]);

    const bodies: Record<string, object> = {
      "register": registration,
      "list": {},
      "inbox": {},
      "grants": {},
      "inbox/block": { from_agent: planner.id },
      "inbox/unblock": { from_agent: planner.id },
    };
    for (const [path, body] of Object.entries(bodies)) {
      assertInvalid(await post(`/agent-artifacts/${path}`, { as: "operator", body }), "agent_id");
    }
  },
);

meshTest(
  "the mesh group without agent_id → the calling agent; by the operator → 422 that names it",
  async ({ alice, bob }) => {
    const ask = <Answered>(as: Sender, path: string, body: object = {}) =>
      succeed<Answered>(`/agent-mesh/${path}`, { as, body });
    const peer = await ask<Peer>(alice, "peer/register", { pubkey: newPubkey() });
    assert.equal(peer.agent_id, alice.id);
    const beat = await ask<{ agent_id: string }>(alice, "peer/heartbeat");
    assert.equal(beat.agent_id, alice.id);
    await leavesUnchanged([alice, bob], async () => {
      const bodies = {
        "peer/register": { pubkey: newPubkey() },
        "peer/heartbeat": {},
        "peer/remove": {},
      };
      for (const [path, body] of Object.entries(bodies)) {
        assertInvalid(await post(`/agent-mesh/${path}`, { as: "operator", body }), "agent_id");
      }
    });
    assert.deepEqual(await ask(alice, "peer/remove"), { agent_id: alice.id, removed: true });
  },
);

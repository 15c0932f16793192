import assert from "node:assert/strict";
import { artifactTest, grant, open, publish } from "../conformance/artifacts.ts";
import { succeed } from "../conformance/client.ts";
import { eventsOf, known, nextEvents } from "../conformance/changes/feed.ts";
import { callAsService, withStackDatabase } from "../database/connection.ts";
import { signIn } from "./signed_in.ts";

artifactTest(
  "a user's actions → events with the agent as actor; only the agent and the operator see which user it was",
  async ({ planner, builder }) => {
    const user = await signIn(planner);
    const { latest } = await eventsOf("agent-artifacts", planner);
    const artifact = await publish(user);
    const { grant_id, expires_at } = await grant(user, artifact, { to: builder });
    const by = { actor_kind: "user", actor: planner.id };
    const committed = {
      type: "artifact.committed",
      ...by,
      user_id: user.sub,
      agent_id: planner.id,
      artifact_id: artifact.artifact_id,
      key: artifact.key,
      sha256: artifact.sha256,
      version: 1,
    };
    const granted = {
      type: "grant.created",
      ...by,
      agent_id: builder.id,
      grant_id,
      expires_at,
      artifact_id: artifact.artifact_id,
      from_agent: planner.id,
      to_agent: builder.id,
    };
    const types = ["artifact.committed", "grant.created"];
    const question = { after: latest, count: 2, types };
    for (const as of [planner, user]) {
      const { events } = await nextEvents("agent-artifacts", as, question);
      assert.deepEqual(known(events), [
        committed,
        { ...granted, key: artifact.key, user_id: user.sub },
      ]);
    }
    const ofBuilder = await nextEvents("agent-artifacts", builder, { ...question, count: 1 });
    assert.deepEqual(known(ofBuilder.events), [granted]);
    const ofOperator = await eventsOf("agent-artifacts", "operator", {
      agent_id: planner.id,
      after: latest,
      types,
    });
    // The operator sees the same events as the agent that it names.
    assert.deepEqual(ofOperator.events.map(({ user_id }) => user_id), [user.sub, user.sub]);
  },
);

artifactTest(
  "a user's actions in the mesh → events that name the user to the agent, and not to the other side",
  async ({ planner, builder }) => {
    const user = await signIn(planner);
    const after = (await eventsOf("agent-mesh", planner)).latest;
    const rule = { from_agent: planner.id, to_agent: builder.id, port: 443, proto: "tcp" };
    await succeed("/agent-mesh/acl/put", { as: user, body: rule });
    const requested = { type: "rule.requested", actor_kind: "user", actor: planner.id };
    for (const [as, told] of [[planner, { user_id: user.sub }], [builder, {}]] as const) {
      const { events } = await nextEvents("agent-mesh", as, { after, count: 1 });
      assert.deepEqual(known(events), [{ ...requested, agent_id: planner.id, ...rule, ...told }]);
    }
  },
);

artifactTest(
  "reads by two users and by the key of one agent → counted apart, each told in the name of who read",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const [ada, grace] = [await signIn(builder), await signIn(builder)];
    for (const reader of [ada, ada, ada, grace, grace, builder]) {
      assert.equal((await open(reader, artifact)).status, 200);
    }
    await withStackDatabase(async (sql) => {
      await sql`
        update agents.reads set told_at = told_at - interval '2 minutes'
        where reader = ${builder.id}`;
      const caller = { kind: "operator", request_id: "test" };
      await callAsService(sql, "settle_reads", { caller, max_entries: 1_000_000 });
      const told = await sql`
        select e.actor_kind, e.actor_user_id, sum((e.details ->> 'reads')::integer)::integer as reads
        from agents.events e
        where e.actor_agent_id = ${builder.id} and e.action = 'artifact.opened'
        group by 1, 2`;
      assert.deepEqual(
        told.map(({ actor_kind, actor_user_id, reads }) => [actor_kind, actor_user_id, reads])
          .sort(),
        [
          ["agent", null, 1],
          ["user", ada.sub, 3],
          ["user", grace.sub, 2],
        ].sort(),
      );
    });
  },
);

import assert from "node:assert/strict";
import { assertError, assertInvalid, post } from "../client.ts";
import {
  artifactTest,
  deleteArtifact,
  grant,
  open,
  publish,
  redeem,
  revoke,
  sha256,
} from "../artifacts.ts";
import { askEvents, eventsOf, known, nextEvents } from "./feed.ts";

const GROUP = "agent-artifacts";

artifactTest(
  "/events of an owner → all that was done to its files and by whom; of a grantee → its part",
  async ({ planner, builder, stranger }) => {
    const [ofPlanner, ofBuilder] = await Promise.all(
      [planner, builder].map((agent) => eventsOf(GROUP, agent)),
    );
    assert.deepEqual(ofPlanner!.events, []);
    const older = await publish(planner, { key: "k", content: "older" });
    const { artifact_id } = await publish(planner, { key: "k", content: "newer" });
    const given = await grant(planner, { artifact_id }, { to: builder });
    await open(builder, { artifact_id });
    await redeem(given.token);
    await open(stranger, { artifact_id });
    await revoke("operator", { grant_id: given.grant_id });
    await deleteArtifact(planner, { artifact_id });

    const byPlanner = { actor_kind: "agent", actor: planner.id };
    const ofPlanners = { agent_id: planner.id };
    const registered = { type: "artifact.registered", ...byPlanner, ...ofPlanners };
    const committed = { type: "artifact.committed", ...byPlanner, ...ofPlanners };
    const ofGrant = {
      agent_id: builder.id,
      grant_id: given.grant_id,
      artifact_id,
      from_agent: planner.id,
      to_agent: builder.id,
    };
    const created = {
      type: "grant.created",
      ...byPlanner,
      ...ofGrant,
      expires_at: given.expires_at,
    };
    const opened = {
      type: "artifact.opened",
      actor_kind: "agent",
      actor: builder.id,
      ...ofPlanners,
      artifact_id,
      reads: 1,
    };
    const fetched = {
      type: "artifact.fetched",
      actor_kind: "grant_token",
      actor: null,
      agent_id: builder.id,
      artifact_id,
      grant_id: given.grant_id,
      reads: 1,
    };
    const revoked = { type: "grant.revoked", actor_kind: "operator", actor: null, ...ofGrant };
    const named = { key: "k" };
    const [was, is] = [{ ...named, artifact_id: older.artifact_id }, { ...named, artifact_id }];
    const own = await nextEvents(GROUP, planner, { after: ofPlanner!.latest, count: 10 });
    assert.deepEqual(known(own.events), [
      { ...registered, ...was },
      { ...committed, ...was, sha256: sha256("older"), version: 1 },
      { ...registered, ...is },
      {
        ...committed,
        ...is,
        sha256: sha256("newer"),
        version: 2,
        superseded: older.artifact_id,
      },
      {
        type: "artifact.superseded",
        ...byPlanner,
        ...ofPlanners,
        ...was,
        superseded_by: artifact_id,
      },
      { ...created, ...named },
      { ...opened, ...named },
      { ...fetched, ...named },
      { ...revoked, ...named },
      { type: "artifact.deleted", ...byPlanner, ...ofPlanners, ...is },
    ]);
    assert.deepEqual(
      own.events.map(({ key_id }) => key_id),
      // Only events that the planner caused show one of the planner's keys.
      [...Array(6).fill(planner.keyId), undefined, undefined, undefined, planner.keyId],
    );
    const granted = await nextEvents(GROUP, builder, { after: ofBuilder!.latest, count: 4 });
    assert.deepEqual(
      known(granted.events),
      [created, { ...opened, ...named }, fetched, revoked],
      "a grantee sees the name of what it opened",
    );
    assert.deepEqual(
      granted.events.map(({ key_id }) => key_id),
      [undefined, builder.keyId, undefined, undefined],
    );
    assert.deepEqual((await eventsOf(GROUP, stranger)).events, []);

    const newest = await eventsOf(GROUP, planner, { limit: 2 });
    assert.deepEqual(newest.events, own.events.slice(-2), "without after: the newest page");
    assert.equal(newest.more, false);
    const asked = await eventsOf(GROUP, "operator", { agent_id: planner.id, limit: 2 });
    // Events of other tests may have advanced the position meanwhile.
    assert.deepEqual(asked, { ...newest, latest: asked.latest });
  },
);

artifactTest(
  "/events page by page → each event once, in order; with types → these alone",
  async ({ planner, builder }) => {
    const { latest } = await eventsOf(GROUP, planner);
    const artifact = await publish(planner);
    for (let index = 0; index < 5; index++) await grant(planner, artifact, { to: builder });
    const all = await nextEvents(GROUP, planner, { after: latest, count: 7 });

    const walked = [];
    let page = await eventsOf(GROUP, planner, { after: latest, limit: 3 });
    while (page.more) {
      walked.push(...page.events);
      assert.equal(page.events.length, 3);
      page = await eventsOf(GROUP, planner, { after: page.latest, limit: 3 });
    }
    assert.deepEqual([...walked, ...page.events], all.events);
    assert.deepEqual((await eventsOf(GROUP, planner, { after: page.latest })).events, []);

    const types = ["artifact.committed"];
    const commits = await nextEvents(GROUP, planner, { after: latest, count: 1, types });
    assert.equal(commits.events[0]?.type, "artifact.committed");
    const newest = await eventsOf(GROUP, planner, { types: ["grant.created"], limit: 1 });
    assert.deepEqual(newest.events, all.events.slice(-1));
  },
);

artifactTest(
  "/events of an agent that has blocked a sender → nothing of its grants",
  async ({ planner, builder, stranger }) => {
    const { latest } = await eventsOf(GROUP, builder);
    const wanted = await publish(planner);
    const spam = await publish(stranger);
    await post(`/${GROUP}/inbox/block`, { as: builder, body: { from_agent: stranger.id } });
    const blocked = await grant(stranger, spam, { to: builder });
    await revoke(stranger, { grant_id: blocked.grant_id });
    const given = await grant(planner, wanted, { to: builder });
    const { events } = await nextEvents(GROUP, builder, { after: latest, count: 1 });
    assert.equal(events[0]?.["grant_id"], given.grant_id);
    const newest = await eventsOf(GROUP, builder);
    assert.deepEqual(newest.events, events);
    const sent = await eventsOf(GROUP, stranger, { types: ["grant.created"] });
    assert.equal(sent.events[0]?.["grant_id"], blocked.grant_id, "the sender learns nothing of it");
  },
);

artifactTest(
  "/events of the operator without agent_id → the events of all agents",
  async ({ planner, stranger }) => {
    const { latest } = await eventsOf(GROUP, "operator", { limit: 1 });
    const expected: string[] = [];
    for (const agent of [planner, stranger]) {
      expected.push((await publish(agent)).artifact_id);
    }
    const found: unknown[] = [];
    let after = latest;
    // Events of tests that run at the same time may come in between.
    for (let asked = 0; asked < 30 && !expected.every((id) => found.includes(id)); asked++) {
      const types = ["artifact.committed"];
      const page = await eventsOf(GROUP, "operator", { after, types, wait_seconds: 5 });
      found.push(...page.events.map((event) => event["artifact_id"]));
      after = page.latest;
    }
    assert.deepEqual(found.filter((id) => expected.includes(String(id))), expected);
  },
);

artifactTest(
  "/events of another agent → 403, by nobody → 401; with a bad field → 422 that names it",
  async ({ planner, stranger }) => {
    const body = { agent_id: planner.id };
    const { body: { latest } } = await askEvents("agent-artifacts", planner, body);
    const octal = latest.replace("-", "-0");
    for (const group of ["agent-artifacts", "agent-mesh"] as const) {
      assertError(await askEvents(group, stranger, body), 403, "forbidden");
      assertError(await askEvents(group, "nobody", body), 401, "unauthenticated");
      const bad = {
        agent_id: ["", "a b", 1, null],
        after: ["", "x", "1", "1.", ".1", "1:2", "-1.0", "X-1.0", "0491.0", octal, 1, null],
        limit: [0, 1001, "1", null],
        types: [[], ["key.created"], ["x"], "grant.created", null],
        wait_seconds: [-1, 141, 0.5, "1", null],
      };
      for (const [field, values] of Object.entries(bad)) {
        for (const value of values) {
          const answer = await askEvents(group, planner, { [field]: value });
          const [issue] = (assertError(answer, 422, "invalid_request") as {
            issues: { path: string }[];
          }).issues;
          assert.equal(issue?.path.split(".")[0], field);
        }
      }
    }
    assertInvalid(await askEvents("agent-mesh", planner, { types: ["grant.created"] }), "types.0");
  },
);

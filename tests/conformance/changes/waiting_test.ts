import assert from "node:assert/strict";
import {
  type Agent,
  type Answer,
  assertError,
  type JsonObject,
  operatorRpc,
  post,
  type Sender,
} from "../client.ts";
import { askUntil } from "../ask_until.ts";
import { artifactTest, grant, type InboxPage, publish, revoke } from "../artifacts.ts";
import {
  agree,
  configVersionOf,
  join,
  meshTest,
  netmapOf,
  pairUp,
  removePeer,
  revokeRule,
  ruleBetween,
} from "../mesh_cast.ts";
import { askEvents, eventsOf } from "./feed.ts";

/** Longer than a working wait takes here: a wait that reaches its end is a failure. */
const LONG = { wait_seconds: 50 };

function waitInInbox(as: Sender, body: object = {}): Promise<Answer<InboxPage>> {
  return post<InboxPage>("/agent-artifacts/inbox", { as, body: { ...LONG, ...body } });
}

function waitWithHeartbeat(agent: Agent, body: object = {}): Promise<Answer> {
  return post("/agent-mesh/peer/heartbeat", { as: agent, body: { ...LONG, ...body } });
}

/**
 * Runs `act` after a pause in which a request can arrive; the service does not tell when it waits.
 */
async function meanwhile<Result>(act: () => Promise<Result>): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return await act();
}

artifactTest(
  "/inbox with wait_seconds → the grant as soon as it is made, before the time is over",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const waiting = waitInInbox(builder);
    const waitingForSender = waitInInbox(builder, { from_agent: planner.id });
    const ofOther = await meanwhile(async () =>
      grant(stranger, await publish(stranger), { to: builder })
    );
    const first = await waiting;
    assert.deepEqual(first.body.grants.map(({ grant_id }) => grant_id), [ofOther.grant_id]);

    const next = waitInInbox(builder, { after: first.body.latest });
    const wanted = await meanwhile(() => grant(planner, artifact, { to: builder }));
    for (const answer of [await waitingForSender, await next]) {
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.grants.map(({ grant_id }) => grant_id), [wanted.grant_id]);
    }
    assert.equal((await waitInInbox(builder)).body.grants.length, 2, "at once, what there is");
  },
);

artifactTest(
  "/inbox with wait_seconds, when nothing comes, or only what it does not show → the ordinary answer",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const spam = await publish(stranger);
    const body = { from_agent: stranger.id };
    await post("/agent-artifacts/inbox/block", { as: builder, body });
    const waiting = waitInInbox(builder, { wait_seconds: 3 });
    const waitingForSender = waitInInbox(builder, { wait_seconds: 3, from_agent: planner.id });
    await meanwhile(async () => {
      await grant(stranger, spam, { to: builder });
      await grant(planner, artifact, { to: stranger });
    });
    for (const answer of [await waiting, await waitingForSender]) {
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.grants, []);
      assert.equal(answer.body.next_cursor, null);
      assert.equal(typeof answer.body.latest, "string");
    }
  },
);

artifactTest(
  "/inbox with wait_seconds by an agent whose key is revoked meanwhile → 401",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const waiting = waitInInbox(builder);
    await meanwhile(() => operatorRpc("revoke_agent_keys", { agent_id: builder.id }));
    assertError(await waiting, 401, "unauthenticated");
    await grant(planner, artifact, { to: builder });
    assertError(await waitInInbox(builder), 401, "unauthenticated");
  },
);

artifactTest(
  "/inbox with wait_seconds of another agent → 403 at once; by the operator → as the agent",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const body = { agent_id: builder.id };
    assertError(await waitInInbox(stranger, body), 403, "forbidden");
    const waiting = waitInInbox("operator", body);
    const { grant_id } = await meanwhile(() => grant(planner, artifact, { to: builder }));
    assert.equal((await waiting).body.grants[0]?.grant_id, grant_id);
  },
);

artifactTest(
  "/events with wait_seconds → the events as soon as there are some, of these types alone",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const given = await grant(planner, artifact, { to: builder });
    const { latest } = await eventsOf("agent-artifacts", builder);
    const body = { ...LONG, after: latest, types: ["grant.revoked"] };
    const waiting = askEvents("agent-artifacts", builder, body);
    await meanwhile(async () => {
      await grant(planner, artifact, { to: builder });
      await revoke(planner, { grant_id: given.grant_id });
    });
    const answer = await waiting;
    assert.deepEqual(answer.body.events.map(({ type, grant_id }) => [type, grant_id]), [
      ["grant.revoked", given.grant_id],
    ]);
    const later = await askEvents("agent-artifacts", builder, {
      ...body,
      after: answer.body.latest,
      wait_seconds: 1,
    });
    assert.deepEqual(later.body.events, []);
  },
);

meshTest(
  "/peer/heartbeat with wait_seconds → the new config_version as soon as a rule changes it",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    const versions: number[] = [await configVersionOf(alice)];
    const rule = ruleBetween(bob, alice);
    for (const change of [() => agree(rule), () => revokeRule(bob, rule)]) {
      const waiting = waitWithHeartbeat(alice, { config_version: versions.at(-1) });
      await meanwhile(change);
      const { status, body } = await waiting;
      assert.equal(status, 200);
      assert.equal(body["config_version"], await configVersionOf(alice));
      assert.ok(Number(body["config_version"]) > versions.at(-1)!);
      versions.push(Number(body["config_version"]));
    }
  },
);

meshTest(
  "/peer/heartbeat with wait_seconds → counts when it arrives, and not again when it is answered",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const config_version = await configVersionOf(bob);
    const waiting = waitWithHeartbeat(bob, { config_version, wait_seconds: 3 });
    const seenOf = async () =>
      (await netmapOf(alice)).peers.find(({ agent_id }) => agent_id === bob.id)!;
    const early = await askUntil(({ online }) => online, seenOf);
    assert.equal(early.config_version_applied, config_version);
    const { body } = await waiting;
    assert.equal(body["config_version"], config_version);
    assert.equal(body["last_seen"], early.last_seen);
    assert.equal((await seenOf()).last_seen, early.last_seen);
  },
);

meshTest(
  "/peer/heartbeat with wait_seconds and no config_version, or another than is due → at once",
  async ({ alice }) => {
    await join(alice);
    const config_version = await configVersionOf(alice);
    for (const body of [{}, { config_version: config_version - 1 }] as JsonObject[]) {
      const answer = await waitWithHeartbeat(alice, body);
      assert.equal(answer.body["config_version"], config_version);
    }
  },
);

meshTest(
  "/peer/heartbeat with wait_seconds by a peer that is removed meanwhile → 404",
  async ({ alice }) => {
    await join(alice);
    const waiting = waitWithHeartbeat(alice, { config_version: await configVersionOf(alice) });
    await meanwhile(() => removePeer("operator", alice.id));
    assertError(await waiting, 404, "peer_not_found");
  },
);

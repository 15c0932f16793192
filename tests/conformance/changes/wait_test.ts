/** /wait of either function: one request that waits for any kind of news. */
import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../artifacts.ts";
import { askUntil } from "../ask_until.ts";
import {
  type Agent,
  type Answer,
  assertError,
  assertInvalid,
  createAgent,
  operatorRpc,
  post,
  type Sender,
  succeed,
} from "../client.ts";
import {
  agree,
  configVersionOf,
  join,
  meshTest,
  netmapOf,
  pairUp,
  removePeer,
  ruleBetween,
} from "../mesh_cast.ts";
import { eventsOf, type Group } from "./feed.ts";

const FUNCTIONS: readonly Group[] = ["agent-artifacts", "agent-mesh"];

/** Longer than a working wait takes here: a wait that reaches its end is a failure. */
const LONG = { wait_seconds: 140 };

interface News {
  readonly latest: string;
  readonly changed: boolean;
}

interface WaitAnswer {
  readonly config_version?: number;
  readonly inbox?: News;
  readonly events?: News;
  readonly heartbeat_interval_seconds: number;
}

function wait(group: Group, as: Sender, body: object = {}): Promise<Answer<WaitAnswer>> {
  return post<WaitAnswer>(`/${group}/wait`, { as, body });
}

async function inboxPosition(agent: Agent): Promise<string> {
  const body = { agent_id: agent.id };
  return (await succeed<{ latest: string }>("/agent-artifacts/inbox", { as: agent, body })).latest;
}

async function positionsOf(agent: Agent) {
  const [inbox_after, { latest }] = await Promise.all([
    inboxPosition(agent),
    eventsOf("agent-artifacts", agent),
  ]);
  return { inbox_after, events_after: latest };
}

/**
 * Runs `act` after a pause in which a request can arrive; the service does not tell when it waits.
 */
async function meanwhile<Result>(act: () => Promise<Result>): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return await act();
}

for (const group of FUNCTIONS) {
  artifactTest(
    `/${group}/wait with positions → a grant ends it; what changed can be read from the position that was sent, and from the answer's`,
    async ({ planner, builder }) => {
      const artifact = await publish(planner);
      const positions = await positionsOf(builder);
      const waiting = wait(group, builder, { ...LONG, ...positions });
      const { grant_id } = await meanwhile(() => grant(planner, artifact, { to: builder }));
      const { status, body } = await waiting;
      assert.equal(status, 200, JSON.stringify(body));
      // The grant's event may become visible a moment after the grant.
      assert.equal(body.inbox?.changed || body.events?.changed, true);
      assert.equal(body.config_version, undefined, "it has no peer");
      const seen = await askUntil<Answer<WaitAnswer>>(
        ({ body }) => body.inbox?.changed === true && body.events?.changed === true,
        () => wait(group, builder, positions),
      );
      for (const after of [positions.inbox_after, seen.body.inbox!.latest]) {
        const page = await succeed<{ grants: readonly { grant_id: string }[] }>(
          "/agent-artifacts/inbox",
          { as: builder, body: { after } },
        );
        assert.deepEqual(page.grants.map((entry) => entry.grant_id), [grant_id]);
      }
      for (const after of [positions.events_after, seen.body.events!.latest]) {
        const { events } = await eventsOf("agent-artifacts", builder, { after });
        assert.deepEqual(events.map(({ type }) => type), ["grant.created"]);
      }
    },
  );

  artifactTest(
    `/${group}/wait when only what the agent is not shown happens → the positions move on, and nothing has changed`,
    async ({ planner, builder, stranger }) => {
      const spam = await publish(stranger);
      await succeed("/agent-artifacts/inbox/block", {
        as: builder,
        body: { from_agent: stranger.id },
      });
      const positions = await positionsOf(builder);
      const waiting = wait(group, builder, { wait_seconds: 3, ...positions });
      await meanwhile(async () => {
        await grant(stranger, spam, { to: builder });
        await publish(planner);
      });
      const { status, body } = await waiting;
      assert.equal(status, 200);
      assert.equal(body.inbox?.changed, false);
      assert.equal(body.events?.changed, false);
      const { latest } = body.inbox!;
      assert.notEqual(latest, positions.inbox_after, "it moves on");
      const wanted = await grant(planner, await publish(planner), { to: builder });
      const page = await succeed<{ grants: readonly { grant_id: string }[] }>(
        "/agent-artifacts/inbox",
        { as: builder, body: { after: latest } },
      );
      assert.deepEqual(page.grants.map(({ grant_id }) => grant_id), [wanted.grant_id]);
    },
  );

  meshTest(
    `/${group}/wait with config_version → a rule ends it, with the version to run`,
    async ({ alice, bob }) => {
      await join(alice);
      await join(bob);
      const config_version = await configVersionOf(alice);
      const waiting = wait(group, alice, { ...LONG, config_version });
      await meanwhile(() => agree(ruleBetween(bob, alice)));
      const { status, body } = await waiting;
      assert.equal(status, 200);
      assert.ok(body.config_version! > config_version);
      assert.equal(body.config_version, await configVersionOf(alice));
      assert.deepEqual(Object.keys(body), ["config_version", "heartbeat_interval_seconds"]);
      const again = await wait(group, alice, { ...LONG, config_version });
      assert.deepEqual(again.body, body, "at once");
    },
  );

  meshTest(
    `/${group}/wait of an agent with a peer → its heartbeat, which counts when it arrives`,
    async ({ alice, bob }) => {
      await pairUp(alice, bob);
      const config_version = await configVersionOf(bob);
      const seenOf = async () =>
        (await netmapOf(alice)).peers.find(({ agent_id }) => agent_id === bob.id)!;
      assert.equal((await seenOf()).online, false);
      const waiting = wait(group, bob, { config_version, wait_seconds: 3 });
      const early = await askUntil(({ online }) => online, seenOf);
      assert.equal(early.config_version_applied, config_version);
      assert.equal((await waiting).body.config_version, config_version);
      assert.equal((await seenOf()).last_seen, early.last_seen, "not again when it is answered");
    },
  );

  meshTest(
    `/${group}/wait whose peer is removed meanwhile → at once, without config_version`,
    async ({ alice }) => {
      await join(alice);
      const config_version = await configVersionOf(alice);
      const waiting = wait(group, alice, { ...LONG, config_version });
      await meanwhile(() => removePeer("operator", alice.id));
      const { status, body } = await waiting;
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(body), ["heartbeat_interval_seconds"]);
      assert.deepEqual((await wait(group, alice, { ...LONG, config_version })).body, body);
    },
  );

  Deno.test(`/${group}/wait of an agent whose key is revoked meanwhile → 401; with nothing to wait for → when the time is over`, async () => {
    const waiter = await createAgent("waiter");
    const inbox_after = await inboxPosition(waiter);
    const waiting = wait(group, waiter, { ...LONG, inbox_after });
    const idle = await wait(group, waiter, { wait_seconds: 1 });
    assert.deepEqual(Object.keys(idle.body), ["heartbeat_interval_seconds"]);
    await operatorRpc("revoke_agent_keys", { agent_id: waiter.id });
    assertError(await waiting, 401, "unauthenticated");
    assertError(await wait(group, waiter), 401, "unauthenticated");
  });

  meshTest(
    `/${group}/wait of another agent → 403, by nobody → 401, with bad fields → 422, and it is no heartbeat; by the operator → as the agent`,
    async ({ alice, bob }) => {
      await join(alice);
      const agent_id = alice.id;
      assertError(await wait(group, bob, { agent_id }), 403, "forbidden");
      assertError(await wait(group, "nobody", { agent_id }), 401, "unauthenticated");
      assertInvalid(await wait(group, "operator"), "agent_id");
      const bad: [string, unknown[]][] = [
        ["inbox_after", ["", "yesterday", 1]],
        ["events_after", ["", "yesterday", 1, "0491.0", "3f9c1a2b4d5e-0491.0"]],
        ["config_version", [-1, "1", 1.5]],
        ["wait_seconds", [-1, 141, "1", 0.5]],
      ];
      for (const [field, values] of bad) {
        for (const value of values) {
          assertInvalid(await wait(group, alice, { [field]: value }), field);
        }
      }
      assert.equal((await netmapOf(alice)).peers[0]?.last_seen, null);
      const answer = await wait(group, "operator", { agent_id });
      assert.equal(answer.body.config_version, await configVersionOf(alice));
      assert.equal((await netmapOf(alice)).peers[0]?.online, true);
    },
  );
}

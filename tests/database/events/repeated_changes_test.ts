import assert from "node:assert/strict";
import { type Agent, operatorRpc, succeed } from "../../conformance/client.ts";
import { eventsOf } from "../../conformance/changes/feed.ts";
import {
  agree,
  join,
  meshTest,
  newPubkey,
  pairUp,
  putRule,
  revokeRule,
  ruleBetween,
} from "../../conformance/mesh_cast.ts";
import { callAsService, withStackDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "settling" };

interface Told {
  readonly type: string;
  readonly endpoint?: string;
  readonly times?: number;
  readonly last_at?: string;
}

/** The events in an agent's feed, oldest first. */
async function toldTo(agent: Agent, types: readonly string[]): Promise<Told[]> {
  const { events } = await eventsOf("agent-mesh", agent, { types, limit: 1000 });
  return events as unknown as Told[];
}

function changesIn(told: readonly Told[]): number {
  return told.reduce((sum, { times = 1 }) => sum + times, 0);
}

/** Ends the current minute of everything that the agent changed. */
async function endMinute({ id }: Agent): Promise<void> {
  await withStackDatabase((sql) =>
    sql`
      update agents.repeated_changes
      set told_at = told_at - interval '61 seconds', due_at = due_at - interval '61 seconds'
      where actor = ${id}`
  );
}

async function settle(): Promise<void> {
  for (;;) {
    const parameters = { caller: OPERATOR, max_entries: 1000 };
    const { status, body } = await operatorRpc("settle_changes", parameters);
    assert.equal(status, 200, JSON.stringify(body));
    if (body["remaining"] === 0) return;
  }
}

meshTest(
  "an endpoint that flips 60 times within a minute → five events at once, and one from the sweep, with the last endpoint and their number",
  async ({ alice }) => {
    const pubkey = newPubkey();
    await join(alice, { pubkey, endpoint: "203.0.113.7:1" });
    for (let port = 2; port <= 61; port++) {
      await join(alice, { pubkey, endpoint: `203.0.113.7:${port}` });
    }
    const types = ["peer.registered", "peer.updated"];
    const atOnce = await toldTo(alice, types);
    assert.deepEqual(atOnce.map(({ endpoint }) => endpoint), [
      "203.0.113.7:1",
      "203.0.113.7:2",
      "203.0.113.7:3",
      "203.0.113.7:4",
      "203.0.113.7:5",
    ]);
    await settle();
    assert.deepEqual(await toldTo(alice, types), atOnce);
    await endMinute(alice);
    await settle();
    await settle();
    const [last, ...more] = (await toldTo(alice, types)).slice(atOnce.length);
    assert.deepEqual(more, []);
    assert.deepEqual([last?.type, last?.endpoint, last?.times], [
      "peer.updated",
      "203.0.113.7:61",
      56,
    ]);
    assert.match(last?.last_at ?? "", /Z$/);
  },
);

meshTest(
  "an endpoint that goes on flipping → one event a minute, which tells of all since the one before",
  async ({ alice }) => {
    const pubkey = newPubkey();
    let port = 0;
    const flip = async (times: number) => {
      for (let time = 0; time < times; time++) {
        await join(alice, { pubkey, endpoint: `203.0.113.7:${++port}` });
      }
    };
    await flip(10);
    for (let minute = 0; minute < 3; minute++) {
      await endMinute(alice);
      await flip(10);
    }
    const told = await toldTo(alice, ["peer.registered", "peer.updated"]);
    assert.deepEqual(told.map(({ times = 1 }) => times), [1, 1, 1, 1, 1, 6, 10, 10]);
    // After a quiet minute, each change gets its own event again.
    await endMinute(alice);
    await settle();
    await endMinute(alice);
    await flip(5);
    const later = (await toldTo(alice, ["peer.updated"])).slice(-6);
    assert.deepEqual(later.map(({ times = 1 }) => times), [9, 1, 1, 1, 1, 1]);
  },
);

meshTest(
  "a rule that is put and revoked 30 times → few events for either side, the last of them as the rule is",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await agree(ruleBetween(bob, alice));
    const rule = ruleBetween(alice, bob, { port: 8443 });
    for (let round = 0; round < 30; round++) {
      assert.equal((await putRule(alice, rule)).status, 200);
      assert.equal((await revokeRule(alice, rule)).status, 200);
    }
    assert.equal((await putRule(alice, rule)).status, 200);
    await endMinute(alice);
    await settle();
    for (const agent of [alice, bob]) {
      const told = (await toldTo(agent, ["rule.requested", "rule.revoked"]))
        .filter((event) => (event as { port?: number }).port === 8443);
      assert.equal(told.length, 6);
      assert.equal(changesIn(told), 61);
      assert.equal(told.at(-1)?.type, "rule.requested");
    }
    // A second rule is counted separately.
    assert.equal((await putRule(alice, { ...rule, port: 8444 })).status, 200);
    const [newest] = (await toldTo(bob, ["rule.requested"])).slice(-1);
    assert.equal((newest as { port?: number }).port, 8444);
  },
);

meshTest(
  "rules that name 2,600 strangers within an hour → an event for each of 2,000, and few for all the others",
  async ({ alice, bob }) => {
    await withStackDatabase(async (sql) => {
      const caller = { kind: "agent", request_id: "flood" };
      await sql`
        select agents.record_change(
          ${sql.json(caller)}, ${alice.id}, 'rule.requested', ${alice.id}, '{}', 'stranger-' || n
        )
        from generate_series(1, 2600) n`;
      const told = async () => {
        const [events] = await sql`
          select count(*)::integer as events,
            count(*) filter (where e.other_agent_id is null)::integer as of_others
          from agents.events e where e.actor_agent_id = ${alice.id}`;
        return { ...events };
      };
      assert.deepEqual(await told(), { events: 2005, of_others: 5 });
      await endMinute(alice);
      await settle();
      assert.deepEqual(await told(), { events: 2006, of_others: 6 });
      const [last] = await sql`
        select details from agents.events where actor_agent_id = ${alice.id}
        order by event_id desc limit 1`;
      assert.equal(last?.["details"].times, 595);
      // A change with a stranger that has had its own event still gets its own event.
      await sql`
        select agents.record_change(
          ${sql.json(caller)}, ${alice.id}, 'rule.revoked', ${alice.id}, '{}', 'stranger-7'
        )`;
      assert.deepEqual(await told(), { events: 2007, of_others: 6 });
    });
    // Changes by the operator are never merged.
    await agree(ruleBetween(alice, bob));
    assert.equal((await toldTo(bob, ["rule.activated"])).length, 1);
  },
);

meshTest("settle_changes after an hour → the rows are gone, and no event", async ({ alice }) => {
  await join(alice);
  const rows = () =>
    withStackDatabase((sql) => sql`select from agents.repeated_changes where actor = ${alice.id}`);
  await settle();
  assert.equal((await rows()).length, 1);
  for (let minute = 0; minute < 60; minute++) await endMinute(alice);
  await settle();
  assert.equal((await rows()).length, 0);
  assert.equal((await toldTo(alice, ["peer.registered"])).length, 1);
});

meshTest("settle_changes by an agent → forbidden, and nothing is told", async ({ alice }) => {
  const pubkey = newPubkey();
  for (let port = 1; port <= 7; port++) {
    await join(alice, { pubkey, endpoint: `203.0.113.7:${port}` });
  }
  await endMinute(alice);
  await withStackDatabase(async (sql) => {
    const [key] = await sql`select key_hash from agents.keys where key_id = ${alice.keyId}`;
    const caller = { kind: "agent", key_hash: key!["key_hash"], request_id: "test" };
    await assert.rejects(
      callAsService(sql, "settle_changes", { caller, max_entries: 10 }),
      /forbidden/,
    );
    const [row] = await sql`
      select untold::integer from agents.repeated_changes where actor = ${alice.id}`;
    assert.equal(row?.["untold"], 2);
  });
});

meshTest("/sweep → tells what was counted", async ({ alice }) => {
  const pubkey = newPubkey();
  for (let port = 1; port <= 7; port++) {
    await join(alice, { pubkey, endpoint: `203.0.113.7:${port}` });
  }
  await endMinute(alice);
  for (;;) {
    const body = await succeed("/agent-artifacts/sweep", { as: "operator" });
    const told = await toldTo(alice, ["peer.registered", "peer.updated"]);
    if (told.length === 6) {
      assert.equal(told.at(-1)?.times, 2);
      return;
    }
    assert.ok(Number(body["remaining"]) > 0, "Nothing remains, and it was not told.");
  }
});

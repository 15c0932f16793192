import assert from "node:assert/strict";
import type postgres from "postgres";
import {
  artifactTest,
  grant,
  type Identified,
  open,
  publish,
  redeem,
} from "../../conformance/artifacts.ts";
import { type Agent, type Answer, operatorRpc } from "../../conformance/client.ts";
import { eventsOf, nextEvents } from "../../conformance/changes/feed.ts";
import { callAsService, withStackDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "settling" };

interface ReadEvent {
  readonly actor_kind: string;
  readonly actor_agent_id: string | null;
  readonly subject_agent_id: string;
  readonly request_id: string | null;
  readonly details: {
    readonly artifact_id?: string;
    readonly reads: number;
    readonly last_read_at?: string;
  };
}

/** The events of reading an artifact or a grant, oldest first. */
function readEvents(objectId: string): Promise<ReadEvent[]> {
  return withStackDatabase((sql) =>
    sql<ReadEvent[]>`
      select actor_kind, actor_agent_id, subject_agent_id, request_id, details
      from agents.events
      where object_id = ${objectId} and action in ('artifact.opened', 'artifact.fetched')
      order by event_id`
  );
}

async function readsOf(objectId: string): Promise<number[]> {
  return (await readEvents(objectId)).map(({ details }) => details.reads);
}

/** Ends the current minute of every reader of this object. */
async function endMinute(objectId: string): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update agents.reads set told_at = told_at - interval '61 seconds' where object_id = ${objectId}`
  );
}

async function settle(): Promise<void> {
  const settled = await operatorRpc("settle_reads", { caller: OPERATOR, max_entries: 1000 });
  assert.equal(settled.status, 200, JSON.stringify(settled.body));
}

async function countsLeft(objectId: string): Promise<number> {
  return (await withStackDatabase((sql) =>
    sql`select from agents.reads where object_id = ${objectId}`
  )).length;
}

async function openTimes(
  times: number,
  as: Agent | "operator",
  artifact: Identified,
): Promise<void> {
  await allSucceed(Array.from({ length: times }, () => open(as, artifact)));
}

async function allSucceed(answers: readonly Promise<Answer<unknown>>[]): Promise<void> {
  for (const { status, body } of await Promise.all(answers)) {
    assert.equal(status, 200, JSON.stringify(body));
  }
}

artifactTest(
  "/open five times within a minute → one event, at the first; the next one after it tells of all since",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    await openTimes(1, planner, artifact);
    assert.deepEqual(await readsOf(artifact_id), [1]);
    await openTimes(4, planner, artifact);
    assert.deepEqual(await readsOf(artifact_id), [1]);
    await endMinute(artifact_id);
    await openTimes(1, planner, artifact);
    assert.deepEqual(await readsOf(artifact_id), [1, 5]);
    await endMinute(artifact_id);
    await openTimes(1, planner, artifact);
    assert.deepEqual(await readsOf(artifact_id), [1, 5, 1]);
  },
);

artifactTest(
  "the sweep → records the reads of past minutes, in the reader's name and once; not those of this minute",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    await grant(planner, artifact, { to: builder });
    const { latest } = await eventsOf("agent-artifacts", planner);
    await openTimes(3, builder, artifact);
    await settle();
    assert.deepEqual(await readsOf(artifact_id), [1]);
    await endMinute(artifact_id);
    await settle();
    await settle();
    const [, told, ...more] = await readEvents(artifact_id);
    assert.deepEqual(more, []);
    assert.ok(told);
    const { last_read_at, ...details } = told.details;
    assert.match(last_read_at!, /Z$/);
    assert.deepEqual({ ...told, details }, {
      actor_kind: "agent",
      actor_agent_id: builder.id,
      subject_agent_id: planner.id,
      request_id: null,
      details: { key: artifact.key, reads: 2 },
    });
    const { events } = await nextEvents("agent-artifacts", planner, {
      after: latest,
      count: 2,
      types: ["artifact.opened"],
    });
    assert.deepEqual(
      events.map(({ reads, last_read_at }) => [reads, last_read_at]),
      [[1, undefined], [2, last_read_at]],
    );
    assert.equal(await countsLeft(artifact_id), 0);
    await openTimes(1, builder, artifact);
    assert.deepEqual(await readsOf(artifact_id), [1, 2, 1]);
  },
);

artifactTest("the sweep of a single read → no further event", async ({ planner }) => {
  const artifact = await publish(planner);
  await openTimes(1, planner, artifact);
  await endMinute(artifact.artifact_id);
  await settle();
  assert.deepEqual(await readsOf(artifact.artifact_id), [1]);
  assert.equal(await countsLeft(artifact.artifact_id), 0);
});

artifactTest(
  "/open by owner, grantee and operator, /fetch by two tokens → each is counted for itself, and each event names the artifact",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    const [one, another] = [
      await grant(planner, artifact, { to: builder }),
      await grant(planner, artifact, { to: builder }),
    ];
    for (const as of [planner, builder, "operator"] as const) await openTimes(2, as, artifact);
    for (const { token } of [one, another]) await allSucceed([redeem(token), redeem(token)]);

    const opened = await readEvents(artifact_id);
    assert.deepEqual(
      opened.map(({ actor_kind, actor_agent_id }) => [actor_kind, actor_agent_id]),
      [["agent", planner.id], ["agent", builder.id], ["operator", null]],
    );
    for (const { grant_id } of [one, another]) {
      const [fetched, ...more] = await readEvents(grant_id);
      assert.deepEqual(more, []);
      assert.equal(fetched!.actor_kind, "grant_token");
      assert.deepEqual(fetched!.details, { artifact_id, key: artifact.key, reads: 1 });
    }
    await endMinute(artifact_id);
    await settle();
    assert.deepEqual(await readsOf(artifact_id), [1, 1, 1, 1, 1, 1]);
  },
);

artifactTest(
  "32 /fetch of one token at once, in two minutes → two events; none is lost, none told twice",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { grant_id, token } = await grant(planner, artifact, { to: builder });
    const fetchAll = () => allSucceed(Array.from({ length: 32 }, () => redeem(token)));
    await fetchAll();
    assert.deepEqual(await readsOf(grant_id), [1]);
    await endMinute(grant_id);
    await fetchAll();
    assert.deepEqual(await readsOf(grant_id), [1, 32]);
    await endMinute(grant_id);
    await settle();
    assert.deepEqual(await readsOf(grant_id), [1, 32, 31]);
  },
);

artifactTest(
  "reads of one artifact beside sweeps and minutes that end → as many are told as there were",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    const rounds = async (step: () => Promise<void>) => {
      for (let round = 0; round < 20; round++) await step();
    };
    await Promise.all([
      rounds(() => openTimes(5, planner, artifact)),
      rounds(() => openTimes(5, planner, artifact)),
      rounds(() => endMinute(artifact_id)),
      rounds(settle),
    ]);
    await endMinute(artifact_id);
    await settle();
    const told = await readsOf(artifact_id);
    assert.equal(told.reduce((sum, reads) => sum + reads, 0), 200);
    assert.ok(told.length < 200, `${told.length} events`);
  },
);

artifactTest(
  "a read that is only counted → updated in place, without waiting for the disk; with any other change it waits",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    const openThen = (first: (transaction: postgres.TransactionSql) => Promise<unknown>) =>
      withStackDatabase((sql) =>
        sql.begin(async (transaction) => {
          // The tests' cluster has synchronous_commit off.
          await transaction`set local synchronous_commit = on`;
          await first(transaction);
          await transaction`
            select public.agent_api_open_artifact(${
            transaction.json(OPERATOR)
          }, ${artifact_id}, 60)`;
          const [row] = await transaction`
            select current_setting('synchronous_commit') as waits,
              pg_stat_get_xact_tuples_updated('agents.reads'::regclass)::integer as updated,
              pg_stat_get_xact_tuples_hot_updated('agents.reads'::regclass)::integer as in_place`;
          return { ...row };
        })
      );
    const nothing = () => Promise.resolve();
    const another = (transaction: postgres.TransactionSql) =>
      transaction`select public.agent_api_create_agent_key(${planner.id})`;
    const first = await openThen(nothing);
    assert.deepEqual(first, { waits: "on", updated: 0, in_place: 0 });
    assert.deepEqual(await openThen(nothing), { waits: "off", updated: 1, in_place: 1 });
    assert.deepEqual(await openThen(another), { waits: "on", updated: 1, in_place: 1 });
  },
);

artifactTest("settle_reads by an agent → 403, and nothing is told", async ({ planner }) => {
  const artifact = await publish(planner);
  const { artifact_id } = artifact;
  await openTimes(2, planner, artifact);
  await endMinute(artifact_id);
  await withStackDatabase(async (sql) => {
    const [key] = await sql`select key_hash from agents.keys where key_id = ${planner.keyId}`;
    const caller = { kind: "agent", key_hash: key!["key_hash"], request_id: "test" };
    await assert.rejects(
      callAsService(sql, "settle_reads", { caller, max_entries: 10 }),
      /forbidden/,
    );
  });
  assert.deepEqual(await readsOf(artifact_id), [1]);
  assert.equal(await countsLeft(artifact_id), 1);
});

artifactTest(
  "reads with two agent keys of one agent → counted apart, each event with the key that read",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const second = await operatorRpc<{ key: string; key_id: string }>("create_agent_key", {
      agent_id: builder.id,
    });
    const other: Agent = { ...builder, key: second.body.key, keyId: second.body.key_id };
    await openTimes(3, builder, artifact);
    await openTimes(2, other, artifact);
    await endMinute(artifact.artifact_id);
    await settle();
    const told = await withStackDatabase((sql) =>
      sql`
        select actor_key_id, (details ->> 'reads')::integer as reads from agents.events
        where object_id = ${artifact.artifact_id} and action = 'artifact.opened'
        order by actor_key_id, event_id`
    );
    assert.deepEqual(
      told.map(({ actor_key_id, reads }) => [actor_key_id, reads]),
      [[builder.keyId, 1], [builder.keyId, 2], [other.keyId, 1], [other.keyId, 1]]
        .toSorted(([one], [two]) => one! < two! ? -1 : one! > two! ? 1 : 0),
    );
  },
);

import assert from "node:assert/strict";
import type postgres from "postgres";
import { askUntil } from "../../conformance/ask_until.ts";
import { positionAt } from "../changes/positions.ts";
import { holdTransaction } from "../changes/held_transaction.ts";
import { callAsService, SUPERUSER_URL, withProjectDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "r-1" };
const ARTIFACT = `art_${"a".repeat(32)}`;
const START = Date.parse("2026-03-01T00:00:00Z");
const HOURS = 200;

interface Page {
  readonly events: readonly {
    readonly event_id: string;
    readonly type: string;
    readonly at: string;
    readonly request_id?: string;
    readonly key_id?: string;
    readonly final?: false;
  }[];
  readonly latest: string;
  readonly more: boolean;
  readonly next: string | null;
  readonly held: object | null;
  readonly earlier: string | null;
  readonly looked_at: number;
  readonly looked_back_to: string | null;
}

/** Ten events an hour, alternately of planner and builder. Some are about one artifact. */
async function fillLog(sql: postgres.Sql): Promise<void> {
  for (let hour = 0; hour < HOURS; hour++) {
    await sql`
      insert into agents.events (
        occurred_at, actor_kind, action, subject_agent_id, object_id, details, request_id
      )
      select ${
      new Date(START + hour * 3_600_000).toISOString()
    }::timestamptz + i * interval '5 minutes',
        'operator', case when i % 5 = 0 then 'artifact.opened' else 'grant.created' end,
        case when i % 2 = 0 then 'planner' else 'builder' end, 'grant_x',
        case when i = 0 then jsonb_build_object('artifact_id', ${ARTIFACT}::text) else '{}' end, 'r-1'
      from generate_series(0, 9) i`;
  }
}

/** All events that a query finds, read page by page. */
async function findAll(
  sql: postgres.Sql,
  question: Record<string, unknown>,
  max_entries: number,
): Promise<Page["events"]> {
  const found: Page["events"][number][] = [];
  let after = question["after"] ?? null;
  for (let pages = 0; pages < 1_000; pages++) {
    const page: Page = await callAsService<Page>(sql, "find_events", {
      ...question,
      max_entries,
      after,
    });
    assert.ok(page.events.length <= max_entries);
    found.push(...page.events);
    if (page.next === null) return found;
    after = page.next;
  }
  throw new Error("There is no end.");
}

Deno.test("find_events by agent, artifact, type and time, in pages of any size → all that the log has of it, oldest first, once", async (t) => {
  await withProjectDatabase({}, async (sql) => {
    await fillLog(sql);
    const instants = [0, 1, 57.5, 199, 250].map((hour) =>
      new Date(START + hour * 3_600_000).toISOString()
    );
    const after = await positionAt(sql, "0.0");
    const questions: Record<string, unknown>[] = [
      { after },
      { after, agent_id: "planner" },
      { after, artifact_id: ARTIFACT },
      { after, artifact_id: ARTIFACT, agent_id: "builder" },
      { after, types: "{artifact.opened}" },
      ...instants.map((since) => ({ since })),
      ...instants.map((since) => ({ since, agent_id: "builder", types: "{artifact.opened}" })),
      { since: instants[2], artifact_id: ARTIFACT, agent_id: "planner" },
    ];
    for (const question of questions) {
      await t.step(JSON.stringify(question), async () => {
        const { agent_id = null, artifact_id = null, types = null, since = null } = question;
        const expected = await sql<{ id: string }[]>`
          select 'evt_' || event_id as id from agents.events e
          where (${agent_id as string}::text is null or subject_agent_id = ${agent_id as string})
            and (${artifact_id as string}::text is null or details ->> 'artifact_id' = ${artifact_id as string})
            and (${types as string}::text[] is null or action = any (${types as string}::text[]))
            and (${since as string}::timestamptz is null or occurred_at >= ${since as string})
          order by transaction_id, event_id`;
        for (const size of [97, 5_000]) {
          assert.deepEqual(
            (await findAll(sql, question, size)).map(({ event_id }) => event_id),
            expected.map(({ id }) => id),
          );
        }
      });
    }
  });
});

Deno.test("find_events without a beginning → the newest, oldest first, and a position from which nothing is missed", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillLog(sql);
    const ids = (page: Page) => page.events.map(({ event_id }) => event_id);
    const all = (await findAll(sql, { after: await positionAt(sql, "0.0") }, 1_000)).map((
      { event_id },
    ) => event_id);
    const newest = await callAsService<Page>(sql, "find_events", { max_entries: 3 });
    assert.deepEqual([ids(newest), newest.more], [all.slice(-3), false]);
    const ofArtifact = await callAsService<Page>(sql, "find_events", {
      max_entries: 2,
      artifact_id: ARTIFACT,
    });
    assert.deepEqual(
      ofArtifact.events.map(({ at }) => at),
      [198, 199].map((hour) => new Date(START + hour * 3_600_000).toISOString()),
    );

    const { key_id } = await callAsService<{ key_id: string }>(sql, "create_agent_key", {
      agent_id: "planner",
    });
    // Older transactions in other databases of the cluster may hold events back.
    const next = await askUntil(
      ({ events }) => events.length > 0,
      () => callAsService<Page>(sql, "find_events", { max_entries: 3, after: newest.latest }),
    );
    assert.deepEqual(next.events.map(({ type, key_id }) => [type, key_id]), [[
      "key.created",
      key_id,
    ]]);
    assert.equal(newest.events[0]!.request_id, OPERATOR.request_id);
  });
});

Deno.test("find_events backwards, before the `earlier` of the page before, of any agent, artifact and type → all that the log has of it, newest page first, once, and how far it looked", async (t) => {
  await withProjectDatabase({}, async (sql) => {
    await fillLog(sql);
    const questions: Record<string, unknown>[] = [
      {},
      { agent_id: "planner" },
      { artifact_id: ARTIFACT },
      { types: "{artifact.opened}" },
      { types: "{key.created}" },
      { artifact_id: ARTIFACT, agent_id: "planner", types: "{artifact.opened}" },
    ];
    for (const question of questions) {
      await t.step(JSON.stringify(question), async () => {
        const after = await positionAt(sql, "0.0");
        const expected = (await findAll(sql, { ...question, after }, 5_000))
          .map(({ event_id }) => event_id);
        for (const size of [97, 5_000]) {
          const found: string[] = [];
          let before: string | null = null;
          let looked_at = 0;
          let oldest = new Date().toISOString();
          do {
            const page: Page = await callAsService<Page>(sql, "find_events", {
              ...question,
              max_entries: size,
              before,
            });
            assert.ok(page.events.length <= size && page.looked_at <= size + 1_000);
            assert.deepEqual(page.more, false);
            found.unshift(...page.events.map(({ event_id }) => event_id));
            looked_at += page.looked_at;
            if (page.looked_back_to !== null) {
              assert.ok(page.looked_back_to < oldest);
              oldest = page.looked_back_to;
            }
            before = page.earlier;
          } while (before !== null);
          assert.deepEqual(found, expected);
          const [{ count }] = await sql<[{ count: number }]>`
            select count(*)::integer from agents.events e
            where (${question["agent_id"] as string ?? null}::text is null
                or subject_agent_id = ${question["agent_id"] as string ?? null}
                or ${question["artifact_id"] as string ?? null}::text is not null)
              and (${question["artifact_id"] as string ?? null}::text is null
                or details ->> 'artifact_id' = ${question["artifact_id"] as string ?? null})`;
          assert.equal(looked_at, count);
        }
      });
    }
  });
});

Deno.test("find_events after and before a position → invalid_request", async () => {
  await withProjectDatabase({}, async (sql) => {
    await assert.rejects(
      callAsService(sql, "find_events", {
        max_entries: 1,
        after: await positionAt(sql, "0.0"),
        before: await positionAt(sql, "9.0"),
      }),
      /invalid_request/,
    );
  });
});

Deno.test("find_events after a position in this database's future → position_expired", async () => {
  await withProjectDatabase({}, async (sql) => {
    await assert.rejects(
      callAsService(sql, "find_events", {
        max_entries: 1,
        after: await positionAt(sql, "9000000000000000000.0"),
      }),
      /position_expired/,
    );
  });
});

Deno.test("find_events while older transactions are open, in pages of any size, either way → all that is committed, once; `latest` stays below them; read on from there → every event, also the late ones", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [database] = await sql<[{ name: string }]>`select current_database() as name`;
    const url = new URL(SUPERUSER_URL);
    url.pathname = `/${database.name}`;
    const record = (own: postgres.Sql) =>
      own`insert into agents.events (actor_kind, action, subject_agent_id, object_id)
        values ('operator', 'artifact.opened', 'planner', ${ARTIFACT})`;
    for (let settled = 0; settled < 10; settled++) await record(sql);
    await using late = await holdTransaction(url.href, record);
    for (let committed = 0; committed < 7; committed++) await record(sql);
    const questions = [
      {},
      { agent_id: "planner" },
      { artifact_id: ARTIFACT },
      { types: "{artifact.opened}" },
    ];
    const idsOf = (events: Page["events"]) => events.map(({ event_id }) => event_id);
    for (const question of questions) {
      const expected = idsOf(
        await findAll(sql, { ...question, since: new Date(START).toISOString() }, 1_000),
      );
      const unsettled = expected.slice(-7);
      let latest = "";
      for (const max_entries of [1, 3, 1_000]) {
        assert.deepEqual(
          idsOf(
            await findAll(sql, { ...question, since: new Date(START).toISOString() }, max_entries),
          ),
          expected,
        );
        const back: string[] = [];
        for (
          let before: string | null = null, first = true;
          first || before !== null;
          first = false
        ) {
          const page: Page = await callAsService<Page>(sql, "find_events", {
            ...question,
            max_entries,
            before,
          });
          back.unshift(...idsOf(page.events));
          before = page.earlier;
          for (const { event_id, final } of page.events) {
            assert.equal(final, unsettled.includes(event_id) ? false : undefined);
          }
          assert.equal(page.held !== null, page.events.some(({ final }) => final === false));
          latest ||= page.latest;
        }
        assert.deepEqual(back, expected);
      }
      const next = await findAll(sql, { ...question, after: latest }, 2);
      assert.deepEqual(idsOf(next), unsettled, "what is not final comes again");
    }
    const { latest } = await callAsService<Page>(sql, "find_events", { max_entries: 1_000 });
    await late.commit();
    const settled = await askUntil(
      (page) => page.held === null,
      () => callAsService<Page>(sql, "find_events", { max_entries: 1_000, after: latest }),
    );
    assert.equal(settled.events.length, 8);
  });
});

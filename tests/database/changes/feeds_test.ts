import assert from "node:assert/strict";
import type postgres from "postgres";
import { askUntil } from "../../conformance/ask_until.ts";
import { callAsService, SUPERUSER_URL, withProjectDatabase } from "../connection.ts";
import { holdTransaction } from "./held_transaction.ts";
import { positionAt } from "./positions.ts";

const OPERATOR = { kind: "operator", request_id: "test" };
const TYPES = ["artifact.registered"];

interface Page {
  readonly events: readonly { readonly event_id: string }[];
  readonly latest: string;
  readonly more: boolean;
}

function read(
  sql: postgres.Sql,
  { agent_id = "planner", after = null, max_entries = 100 }: {
    agent_id?: string | null;
    after?: string | null;
    max_entries?: number;
  } = {},
): Promise<Page> {
  const parameters = { caller: OPERATOR, agent_id, types: TYPES, max_entries, after };
  return callAsService<Page>(sql, "list_events", parameters);
}

/**
 * Like `read`, but waits until at least `count` events are visible: transactions in other databases
 * of the cluster also hold events back.
 */
function readAll(
  sql: postgres.Sql,
  count: number,
  options: { agent_id?: string | null; after?: string },
): Promise<Page> {
  return askUntil(({ events }) => events.length >= count, () => read(sql, options));
}

/** Records an event of the planner, inside the transaction of `sql` if there is one. */
async function record(sql: postgres.Sql, action = TYPES[0]!): Promise<string> {
  await sql`
    select agents.record_event(${sql.json(OPERATOR)}, null, ${action}, 'planner', null, '{}')`;
  const [row] = await sql`select max(event_id) as event_id from agents.events`;
  return `evt_${row!["event_id"]}`;
}

async function urlOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<[{ name: string }]>`select current_database() as name`;
  const url = new URL(SUPERUSER_URL);
  url.pathname = `/${row.name}`;
  return url.href;
}

function idsIn({ events }: Page): string[] {
  return events.map(({ event_id }) => event_id);
}

for (const agent_id of ["planner", null]) {
  const whose = agent_id === null ? "everybody" : "one agent";

  Deno.test(`the events of ${whose} while an older transaction is open → not those behind it; after its end → all, in order, once`, async () => {
    await withProjectDatabase({}, async (sql) => {
      const databaseUrl = await urlOf(sql);
      const before = await record(sql);
      let heldId = "";
      await using held = await holdTransaction(databaseUrl, async (own) => {
        heldId = await record(own);
      });
      const overtaking = await record(sql);

      const first = await readAll(sql, 1, { agent_id });
      assert.deepEqual(idsIn(first), [before]);
      assert.deepEqual(idsIn(await read(sql, { agent_id, after: first.latest })), []);
      await held.commit();
      const second = await readAll(sql, 2, { agent_id, after: first.latest });
      assert.deepEqual(idsIn(second), [heldId, overtaking]);
      assert.deepEqual(idsIn(await read(sql, { agent_id, after: second.latest })), []);
    });
  });
}

Deno.test("events of transactions that commit in another order than they wrote → each once, page by page", async () => {
  await withProjectDatabase({}, async (sql) => {
    const databaseUrl = await urlOf(sql);
    const recorded: string[] = [];
    const seen: string[] = [];
    let { latest } = await read(sql);
    const readOn = async () => {
      let page: Page;
      do {
        page = await read(sql, { after: latest, max_entries: 2 });
        seen.push(...idsIn(page));
        latest = page.latest;
      } while (page.more);
    };
    const open = [];
    for (let round = 0; round < 8; round++) {
      open.push(
        await holdTransaction(databaseUrl, async (own) => {
          recorded.push(await record(own), await record(own));
        }),
      );
      recorded.push(await record(sql));
      await readOn();
      // Commit the newest, then the oldest: some events overtake others, and some come late.
      if (round % 2 === 1) {
        await open.splice(-1, 1)[0]!.commit();
        await readOn();
        await open.splice(0, 1)[0]!.commit();
        await readOn();
      }
    }
    await askUntil(() => seen.length >= recorded.length, readOn);
    assert.equal(new Set(seen).size, seen.length, "none twice");
    assert.deepEqual(seen.toSorted(), recorded.toSorted(), "none missed");
  });
});

Deno.test("a transaction that is rolled back → leaves nothing, and holds back nothing any more", async () => {
  await withProjectDatabase({}, async (sql) => {
    const databaseUrl = await urlOf(sql);
    const { latest } = await read(sql);
    let overtaking: string;
    {
      await using _rolledBack = await holdTransaction(databaseUrl, record);
      overtaking = await record(sql);
      assert.deepEqual(idsIn(await read(sql, { after: latest })), []);
    }
    assert.deepEqual(idsIn(await readAll(sql, 1, { after: latest })), [overtaking]);
  });
});

Deno.test("events behind thousands of other types → found over several pages, and waited for no longer", async () => {
  await withProjectDatabase({}, async (sql) => {
    let { latest } = await read(sql);
    const [from] = [latest];
    await sql`
      select agents.record_event(${
      sql.json(OPERATOR)
    }, null, 'rule.requested', 'planner', null, '{}')
      from generate_series(1, 2500)`;
    const wanted = await record(sql);
    const wait = {
      kind: "events",
      caller: OPERATOR,
      agent_id: "planner",
      types: TYPES,
      after: from,
    };
    const found = await askUntil(
      ({ changed }) => changed.length > 0,
      () => callAsService<{ changed: number[] }>(sql, "find_changes", { waits: sql.json([wait]) }),
    );
    assert.deepEqual(found.changed, [0]);
    const seen: string[] = [];
    let pages = 0;
    for (let more = true; more; pages++) {
      const page = await read(sql, { after: latest, max_entries: 10 });
      seen.push(...idsIn(page));
      ({ latest, more } = page);
    }
    assert.deepEqual(seen, [wanted]);
    assert.ok(pages > 1);
  });
});

Deno.test("a position in the future of this database → position_expired", async () => {
  await withProjectDatabase({}, async (sql) => {
    const after = await positionAt(sql, "9000000000000000000.0");
    await assert.rejects(read(sql, { after }), /position_expired/);
  });
});

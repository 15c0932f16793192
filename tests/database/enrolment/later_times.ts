/** Moves time for a test's own rows, in every table, instead of waiting. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { succeed } from "../../conformance/client.ts";
import { withStackDatabase } from "../connection.ts";

interface TimeColumn {
  readonly table: string;
  readonly column: string;
}

/** Which rows become older: $2 are patterns, $3 the texts. */
const NAMED = "t::text like any ($2::text[]) and $3::text[] is not null";

const CONCERNED: Readonly<Record<string, string>> = {
  "agents.erased_names": `t::text like any ($2::text[])
    or t.name_hash in (select agents.hash_of_name(n) from unnest($3::text[]) n)`,
  "agents.events":
    `t.event_id <= (select max(e.event_id) from agents.events e where e::text like any ($2::text[]))
    and $3::text[] is not null`,
};

/** Every column of the project's tables with a point in time that is not computed. */
export async function timeColumns(sql: postgres.Sql): Promise<readonly TimeColumn[]> {
  return Array.from(
    await sql<TimeColumn[]>`
      select a.attrelid::regclass::text as table, quote_ident(a.attname) as column
      from pg_attribute a
      join pg_class c on c.oid = a.attrelid
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (agents.own_schemas())
        and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        and a.atttypid in ('timestamptz'::regtype, 'date'::regtype)
      order by a.attrelid, a.attnum`,
  );
}

/**
 * Makes every row that contains one of these texts as many days older: what was to end in that time
 * has ended, and what the sweep forgets after that time is forgotten by the next one. Every event
 * before these becomes older, too: the log is in the order of time, and the sweep reads it from its
 * beginning.
 */
export async function letDaysPass(days: number, texts: readonly string[]): Promise<void> {
  await withStackDatabase((sql) => letDaysPassIn(sql, days, texts));
}

export async function letDaysPassIn(
  sql: postgres.Sql,
  days: number,
  texts: readonly string[],
): Promise<void> {
  const columns = await timeColumns(sql);
  assert.ok(columns.length > 50, String(columns.length));
  const patterns = texts.map((text) => `%${text}%`);
  await sql.begin(async (transaction) => {
    // The log refuses changes, whoever makes them.
    await transaction`set local session_replication_role = replica`;
    for (const [table, own] of Map.groupBy(columns, ({ table }) => table)) {
      const changes = own.map(({ column }) =>
        `${column} = ${column} - $1::integer * interval '1 day'`
      );
      await transaction.unsafe(
        `update ${table} t set ${changes.join(", ")} where ${CONCERNED[table] ?? NAMED}`,
        [days, patterns, texts as string[]],
      );
    }
  });
}

/** Sweeps until nothing remains, twice: the first round may have been begun by another caller. */
export async function sweepAll(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    let remaining: number;
    do {
      ({ remaining } = await succeed<{ remaining: number }>("/agent-artifacts/sweep", {
        as: "operator",
        body: { limit: 1000 },
      }));
    } while (remaining > 0);
  }
}

/**
 * Asks until the answer is 200, and lets time pass again in between: the functions store counts of
 * requests once a minute, which may have been after the last sweep.
 */
export async function askWhenAllIsOld<Answer extends { readonly status: number }>(
  ask: () => Promise<Answer>,
  { days, texts }: { readonly days: number; readonly texts: readonly string[] },
): Promise<Answer> {
  for (let late = 0;; late++) {
    const answer = await ask();
    if (answer.status === 200 || late === 5) return answer;
    await letDaysPass(days, texts);
    await sweepAll();
  }
}

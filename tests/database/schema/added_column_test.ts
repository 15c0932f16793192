import assert from "node:assert/strict";
import postgres from "postgres";
import { fill } from "../../bench/fill/fill.ts";
import { HOARDER } from "../../bench/fill/cast.ts";
import { urlOf, withProjectDatabase, withStackDatabase } from "../connection.ts";
import { CALLS } from "../plans/calls.ts";
import { literal } from "../plans/explain.ts";
import { fillLog } from "../plans/log_rows.ts";
import { fillOrphans } from "../plans/orphan_rows.ts";
import { call, HUB, type PlannedCall } from "../plans/planned_call.ts";
import { addColumnToEveryTable, tablesOf } from "./added_column.ts";

/** A call without a checked plan, because only fsck makes it. */
const OTHER_CALLS = [call("list_wrong_totals", { agent_ids: `{${HOARDER},nobody}` })];

Deno.test("every SQL function, after a column was added to every table → answers with the same fields as before, in a session that had called it and in a new one", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 200, peers: 400, hubs: [HUB] });
    await fillLog(sql, { artifacts: 200 });
    await fillOrphans(sql, { artifacts: 200 });
    // Make an agent's totals wrong, so that list_wrong_totals returns something.
    await sql`update artifacts.totals set pending = pending + 1 where agent_id = ${HOARDER}`;
    const url = await urlOf(sql);
    const running = postgres(url, { max: 1, onnotice: () => {} });
    const fresh = postgres(url, { max: 1, onnotice: () => {} });
    try {
      const before = await outcomes(running);
      assert.ok(before.filter((outcome) => outcome.includes("{")).length > 60, before.join("\n"));
      await addColumnToEveryTable(sql);
      assert.deepEqual(await outcomes(running), before);
      assert.deepEqual(await outcomes(fresh), before);
    } finally {
      await running.end();
      await fresh.end();
    }
  });
});

Deno.test("no function makes a row of a table by hand, where its columns are fixed when the function is made", async () => {
  await withStackDatabase(async (sql) => {
    const functions = await sql<FunctionOnTables[]>`
      select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition,
        l.lanname = 'sql' and exists (
          select from pg_type t
          join pg_class c on c.oid = t.typrelid and c.relkind = 'r'
          where t.oid = p.prorettype
        ) as returns_rows
      from pg_proc p
      join pg_language l on l.oid = p.prolang
      where p.pronamespace::regnamespace::text = any (agents.own_schemas() || '{public}')
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      order by 1`;
    const tables = await tablesOf(sql);
    assert.ok(functions.length > 100 && tables.length > 20);
    assert.deepEqual(functions.flatMap((one) => handmadeRowsIn(one, tables)), []);
  });
});

interface FunctionOnTables {
  readonly name: string;
  readonly definition: string;
  /** Whether the function's language is SQL and its result type is a table's row type. */
  readonly returns_rows: boolean;
}

function handmadeRowsIn(
  { name, definition, returns_rows }: FunctionOnTables,
  tables: readonly string[],
): string[] {
  const table = `(?:${tables.join("|").replaceAll(".", "\\.")})`;
  const complaints: string[] = [];
  if (returns_rows && !/AS \$function\$\s*select (\w+)\.\*\s*from/.test(definition)) {
    complaints.push("returns rows of a table, and does more than select alias.*");
  }
  if (new RegExp(`::${table}\\b(?!\\[)`).test(definition)) {
    complaints.push("casts to the row of a table");
  }
  const insert = new RegExp(
    `insert into ${table}(?: as \\w+)?\\s+(?:select|values \\((?!\\w+\\.\\*\\)))`,
  );
  if (insert.test(definition)) complaints.push("inserts without naming the columns");
  return complaints.map((what) => `${name} ${what}`);
}

/** The outcome of each call as service_role: the fields of its answer, or its error. */
async function outcomes(sql: postgres.Sql): Promise<string[]> {
  const ends: string[] = [];
  for (const planned of [...CALLS, ...OTHER_CALLS]) {
    ends.push(`${planned.functionName} ${planned.circumstances}: ${await outcomeOf(sql, planned)}`);
  }
  return ends;
}

async function outcomeOf(
  sql: postgres.Sql,
  { functionName, parameters }: PlannedCall,
): Promise<string> {
  const list = Object.entries(parameters).map(([name, value]) => `${name} => ${literal(value)}`);
  await sql.unsafe("begin; set local role service_role");
  try {
    const [row] = await sql.unsafe(
      `select public.agent_api_${functionName}(${list.join(", ")}) as answer`,
    );
    return shapeOf(row!["answer"]);
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    return `${error.code} ${error.message}`;
  } finally {
    await sql.unsafe("rollback");
  }
}

/** The fields of a value and of everything inside it. A list has the fields of all its entries. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].sort().join()}]`;
  if (typeof value !== "object" || value === null) return "";
  const fields = Object.entries(value).map(([name, field]) => `${name}${shapeOf(field)}`);
  return `{${fields.sort().join()}}`;
}

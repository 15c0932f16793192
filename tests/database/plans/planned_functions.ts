import type postgres from "postgres";
import { CALLS } from "./calls.ts";
import { literal } from "./explain.ts";

/**
 * The SQL-language functions that access tables and that PostgreSQL does not inline into the calls
 * of agents and users. PostgreSQL plans such a function in every statement that calls it, which
 * takes about 0.1 ms. For a PL/pgSQL function, it keeps the plans.
 */
export async function functionsPlannedByCalls(sql: postgres.Sql): Promise<string[]> {
  const session = await sql.reserve();
  try {
    await session.unsafe("select pg_stat_reset(); set track_functions = 'all'");
    for (const { functionName, parameters } of CALLS) {
      if (!isOfAgentOrUser(parameters)) continue;
      const list = Object.entries(parameters).map(([name, value]) =>
        `${name} => ${literal(value)}`
      );
      await session.unsafe("begin; set local role service_role");
      await session.unsafe(`select public.agent_api_${functionName}(${list.join(", ")})`).catch(
        (error) => {
          // A refused call (SQLSTATE PT…) has also run its functions.
          if (!error.code?.startsWith("PT")) throw error;
        },
      );
      await session.unsafe("rollback");
    }
    await session.unsafe("reset track_functions; select pg_stat_force_next_flush()");
    const rows = await session.unsafe<{ name: string }[]>(`
      select u.schemaname || '.' || u.funcname as name
      from pg_stat_user_functions u
      join pg_proc p on p.oid = u.funcid
      join pg_language l on l.oid = p.prolang
      where u.calls > 0
        and l.lanname = 'sql'
        -- It refuses aggregates, and conditions have no order.
        and case when p.prokind = 'f' then
          pg_get_functiondef(p.oid) ~* format(
            '(from|join|into|update)\\s+(%s)\\.',
            array_to_string(agents.own_schemas() || '{storage}', '|')
          )
        end
      order by 1`);
    return rows.map(({ name }) => name);
  } finally {
    session.release();
  }
}

function isOfAgentOrUser({ caller }: Readonly<Record<string, unknown>>): boolean {
  return caller !== undefined && /"kind":"(?:agent|user)"/.test(JSON.stringify(caller));
}

/** The steps of a sweep, as SQL calls. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type postgres from "postgres";
import { PROJECT } from "../../../packages/local/project.ts";
import { callAsService } from "../connection.ts";

const SWEEP = join(PROJECT, "supabase/functions/agent-artifacts/routes/sweep.ts");
/** What the functions give these parameters. Others keep their defaults. */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  caller: { kind: "operator" },
  max_entries: 1000,
  window_seconds: 60,
  retention_days: 90,
  remove_many_orphans: false,
};
/** Calls that need an agent or an object from an earlier step, and end no rows by themselves. */
const FURTHER_CALLS = ["end_idle_agent"];

/** Calls every SQL function of `/sweep` once, in its order. Objects stay. */
export async function sweepOnce(sql: postgres.Sql): Promise<void> {
  const route = await readFile(SWEEP, "utf8");
  const calls = Array.from(
    route.matchAll(/callDatabase(?:<[^>]+>)?\(\s*"(\w+)"/g),
    ([, name]) => name!,
  );
  for (const name of new Set(calls)) {
    if (FURTHER_CALLS.includes(name)) continue;
    const [called] = await sql<{ parameters: string[] }[]>`
      select p.proargnames as parameters
      from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname = 'agent_api_' || ${name}`;
    const parameters = called!.parameters.filter((parameter) => parameter in PARAMETERS);
    await callAsService(
      sql,
      name,
      Object.fromEntries(parameters.map((parameter) => [parameter, PARAMETERS[parameter]])),
    );
  }
}

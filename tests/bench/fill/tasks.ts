/** Fills the tables of hand-overs as work. */
import type postgres from "postgres";
import { HOARDER } from "./cast.ts";

/** The hoarder said something about each of its grants. Call it after the grants are there. */
export async function fillTasks(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into artifacts.hand_overs (grant_id, from_agent, note, idempotency_key)
    select g.grant_id, g.from_agent, 'Build it.', left(g.grant_id, 38)
    from artifacts.grants g where g.from_agent = ${HOARDER}`;
  await sql`analyze artifacts.hand_overs`;
}

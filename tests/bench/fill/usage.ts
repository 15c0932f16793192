/** Fills the tables of usage: a day, a refusal and the last use of each peer's agent key. */
import type postgres from "postgres";
import type { Size } from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

export async function fillUsage(sql: postgres.Sql, { peers }: Size): Promise<void> {
  await fillInChunks(sql, peers, async (transaction, { from, to }) => {
    await transaction`
      insert into agents.usage (agent_id, day, requests, refusals, artifacts, bytes, grants)
      select 'peer-' || i, (now() at time zone 'UTC')::date, 100, 1, 0, 0, 0
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into agents.refusals (agent_id, hour, kind, count)
      select 'peer-' || i, date_trunc('hour', now(), 'UTC'), 'artifact_not_found', 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into agents.key_uses (key_id, last_used_at)
      select 'key_' || md5('peer-' || i), now()
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
  });
}

/** /inbox/take of an agent that has done very many tasks, beside one that has done none. */
import type postgres from "postgres";
import { peerIdOf } from "../fill/cast.ts";
import { fillInChunks } from "../fill/chunks.ts";
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import { type BenchOperation, type FilledStack, requestsOf } from "./operations.ts";

const FEW = 10;
const [NOVICE, VETERAN] = [peerIdOf(0), peerIdOf(1)];
export const MAX_DONE_RATIO = 1.15;

/** Medians of the turns' p50s, in milliseconds. */
export interface TakeCost {
  /** How many tasks are done, beside those that wait. */
  readonly done: number;
  readonly none: number;
  readonly many: number;
  /** The median of the turns' ratios. */
  readonly ratio: number;
}

export async function measureTasks(
  filled: FilledStack,
  { done, turns }: { readonly done: number; readonly turns: number },
): Promise<TakeCost> {
  const { sql } = filled.stack;
  await fillQueue(sql, NOVICE, 0);
  await fillQueue(sql, VETERAN, done);
  await sql`vacuum analyze artifacts.tasks, artifacts.grants`;
  const none: number[] = [];
  const many: number[] = [];
  for (let turn = 0; turn <= turns; turn++) {
    const ofTurn = [await takesOf(filled, NOVICE), await takesOf(filled, VETERAN)];
    // The first turn only warms up the function.
    if (turn === 0) continue;
    none.push(ofTurn[0]!);
    many.push(ofTurn[1]!);
  }
  return {
    done,
    none: median(none),
    many: median(many),
    ratio: median(many.map((time, turn) => time / none[turn]!)),
  };
}

export function describeTasks({ done, none, many, ratio }: TakeCost): string {
  return `${
    ratio <= MAX_DONE_RATIO ? "met        " : "falls short"
  }  /inbox/take of ${FEW} tasks: ${none.toFixed(1)} ms beside none, ${
    many.toFixed(1)
  } ms beside ${done} done, ratio ${ratio.toFixed(2)} ` +
    `(goal ≤ ${MAX_DONE_RATIO})`;
}

async function takesOf(filled: FilledStack, agent: string): Promise<number> {
  await filled.stack.sql`
    update artifacts.tasks
    set state = 'waiting', attempt = 0, take_id = null, ready_at = now() - interval '1 day'
    where queue = ${agent} and ready_at is not null`;
  const operation: BenchOperation = {
    name: "/inbox/take",
    functionName: "agent-artifacts",
    floor: null,
    calls: () => Promise.resolve([]),
  };
  const calls = Array.from({ length: FEW }, () => ({ agent, body: { seconds: 3600 } }));
  return (await load(filled.stack.url, requestsOf(filled, operation, calls), 1)).p50;
}

/** Gives an agent tasks of one file: so many are done, and FEW wait. */
async function fillQueue(sql: postgres.Sql, agent: string, done: number): Promise<void> {
  await fillInChunks(sql, done + FEW, async (transaction, { from, to }) => {
    await transaction`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash,
        granted_at, expires_at)
      select 'grant_' || md5(${agent} || i), 'art_' || md5('work'), 'foreman', ${agent},
        encode(sha256(convert_to(${agent} || i, 'UTF8')), 'hex'),
        now() - interval '9 days' + i * interval '1 ms', now() + interval '90 days'
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into artifacts.tasks (grant_id, agent_id, state, attempt, ready_at, take_id, taken_by,
        done_at)
      select 'grant_' || md5(${agent} || i), ${agent},
        case when i < ${FEW} then 'waiting' else 'done' end,
        case when i < ${FEW} then 0 else 1 end,
        case when i < ${FEW} then now() - interval '1 day' end,
        case when i >= ${FEW} then 'take_' || md5(${agent} || i) end,
        case when i >= ${FEW} then ${agent} end,
        case when i >= ${FEW} then now() end
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
  });
  await sql`
    insert into artifacts.task_queues (agent_id, filled_through)
    select ${agent}, max(g.transaction_id::text::bigint)::text::xid8
    from artifacts.grants g where g.to_agent = ${agent}`;
}

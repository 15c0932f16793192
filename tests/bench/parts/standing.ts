/** /commit of an agent with as many standing grants as it can have, beside /commit without any. */
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import { HOARDER } from "../fill/cast.ts";
import { ARTIFACT_OPERATIONS } from "./artifact_operations.ts";
import { type FilledStack, requestsOf } from "./operations.ts";

const MOST = 1_000;
export const MAX_STANDING_RATIO = 1.1;

/** Medians of the turns' p50s, in milliseconds. */
export interface StandingCost {
  readonly none: number;
  readonly most: number;
  /** The median of the turns' ratios. */
  readonly ratio: number;
}

export async function measureStanding(
  filled: FilledStack,
  { turns, calls }: { readonly turns: number; readonly calls: number },
): Promise<StandingCost> {
  const none: number[] = [];
  const most: number[] = [];
  for (let turn = 0; turn <= turns; turn++) {
    const ofTurn = [
      await commitsBeside(filled, 0, calls),
      await commitsBeside(filled, MOST, calls),
    ];
    // The first turn only warms up the function.
    if (turn === 0) continue;
    none.push(ofTurn[0]!);
    most.push(ofTurn[1]!);
  }
  await keepStanding(filled, 0);
  return {
    none: median(none),
    most: median(most),
    ratio: median(most.map((time, turn) => time / none[turn]!)),
  };
}

export function describeStanding({ none, most, ratio }: StandingCost): string {
  return `${ratio <= MAX_STANDING_RATIO ? "met        " : "falls short"}  /commit of 1 KiB: ${
    none.toFixed(1)
  } ms without standing grants, ${most.toFixed(1)} ms with ${MOST}, ratio ${ratio.toFixed(2)} ` +
    `(goal ≤ ${MAX_STANDING_RATIO})`;
}

async function commitsBeside(filled: FilledStack, count: number, calls: number): Promise<number> {
  await keepStanding(filled, count);
  const operation = ARTIFACT_OPERATIONS.find(({ name }) => name === "/commit of 1 KiB")!;
  const requests = requestsOf(filled, operation, await operation.calls(filled, calls));
  return (await load(filled.stack.url, requests, 1)).p50;
}

/** Leaves this many live standing grants to the agent that commits, all of other names. */
async function keepStanding({ stack: { sql } }: FilledStack, count: number): Promise<void> {
  await sql`
    delete from artifacts.standing_grants where from_agent = ${HOARDER} and live_until > now()`;
  await sql`
    insert into artifacts.standing_grants (standing_id, from_agent, covered_name, is_prefix, to_agent,
      expires_at)
    select 'standing_' || md5('bench ' || i), ${HOARDER}, 'fresh/' || i || '/', true, 'friend',
      now() + interval '1 day'
    from generate_series(1, ${count}::integer) i`;
  await sql`vacuum analyze artifacts.standing_grants`;
}

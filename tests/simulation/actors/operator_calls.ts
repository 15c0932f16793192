import process from "node:process";
import { callAsOperator } from "../../../packages/operator/operator_call.ts";
import type { Turn } from "../turn.ts";
import { NOTHING_OMITTED } from "../world/decisions.ts";
import { runAs } from "../world/globals.ts";
import { type Deployment, ORIGIN, SECRET_KEY, World } from "../world/world.ts";

const MOST_MILLISECONDS = 3_600_000;

/** What became of something that the operator did. */
export interface Operated<Answer> {
  /** In the order of all requests and answers of a history. */
  readonly start: number;
  readonly end: number;
  /** Null: it was refused, or nobody knows. */
  readonly answer: Answer | null;
}

/** Does `work` as the operator's program does it. */
export async function operate<Answer>(
  turn: Turn,
  work: () => Promise<unknown>,
): Promise<Operated<Answer>> {
  const { known, world } = turn;
  const start = known.nextPlace();
  const tooLong = turn.sleep(MOST_MILLISECONDS).then(() => {
    throw new Error("nobody answers");
  });
  const answer = await Promise.race([work(), tooLong]).catch((error: Error) => {
    world.transcript.note(`operator ⇒ ${error.message}`);
    return null;
  });
  return { start, end: known.nextPlace(), answer: answer as Answer | null };
}

/** Calls an SQL function as `agentops` does. */
export function call<Answer>(
  turn: Turn,
  name: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Operated<Answer>> {
  return operate<Answer>(turn, () => callAsOperator(name, parameters));
}

/**
 * Makes the operator's program talk to the simulated project. Its first call reads files and asks
 * which schema is deployed; later ones do not.
 */
export async function introduceOperator(deployment: Deployment): Promise<void> {
  for (const name of Object.keys(process.env)) {
    if (/^(https?|all|no)_proxy$/i.test(name)) delete process.env[name];
  }
  Object.assign(process.env, { SUPABASE_URL: ORIGIN, SUPABASE_SECRET_KEY: SECRET_KEY });
  const world = new World(0, deployment, NOTHING_OMITTED);
  world.network.isCalm = true;
  let isDone = false;
  const first = runAs(world.party("operator"), () => callAsOperator("read_project", {}))
    .finally(() => isDone = true);
  while (!isDone) await world.run(Infinity);
  await first;
  world.end();
}

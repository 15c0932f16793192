import type { CallerArgument } from "../_shared/identity/callers/caller.ts";
import { Turns } from "../_shared/data/work_limit.ts";

/** How many changes of one agent run at a time: as many as mesh.take_turn (SQL) lets in. */
const turns = new Turns(4);

/**
 * Runs a change to the mesh when its turn comes. Changes by the same agent key, or by users of the
 * same agent, take turns. The operator's changes never wait.
 */
export async function inTurn<Result>(
  { key_hash, agent_id }: CallerArgument,
  change: () => Promise<Result>,
): Promise<Result> {
  const who = key_hash ?? agent_id;
  return await (who === undefined ? change() : turns.take(who, change));
}

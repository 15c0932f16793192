import type { CallerArgument } from "../_shared/request/caller.ts";
import { Turns } from "../_shared/upstream/turns.ts";

/** As many changes of one agent at a time as the SQL function mesh.take_turn lets in. */
const turns = new Turns(4);

/**
 * Does a change to the mesh when it is its turn among those of the same agent key, or of an agent's
 * users. The operator waits for nobody.
 */
export async function inTurn<Result>(
  { key_hash, agent_id }: CallerArgument,
  change: () => Promise<Result>,
): Promise<Result> {
  const who = key_hash ?? agent_id;
  return await (who === undefined ? change() : turns.take(who, change));
}

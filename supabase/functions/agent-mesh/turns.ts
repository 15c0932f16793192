import type { CallerArgument } from "../_shared/request/caller.ts";

/** As many changes of one agent at a time as the SQL function mesh.take_turn lets in. */
const TURNS = 4;

/** By agent key (its hash) or user (its agent): who waits for a turn. Only those who have one. */
const waiting = new Map<
  string,
  { underWay: number; readonly next: (() => void)[] }
>();

/**
 * Does a change to the mesh when it is its turn among those of the same agent key, or of an agent's
 * users, in this process. In the database they would wait for each other too, each with a
 * connection that others need. The operator waits for nobody.
 */
export async function inTurn<Result>(
  { key_hash, agent_id }: CallerArgument,
  change: () => Promise<Result>,
): Promise<Result> {
  const who = key_hash ?? agent_id;
  if (who === undefined) return await change();
  const turns = waiting.get(who) ?? { underWay: 0, next: [] };
  waiting.set(who, turns);
  if (turns.underWay < TURNS) turns.underWay++;
  // A call that ends passes its turn to the next.
  else await new Promise<void>((resolve) => turns.next.push(resolve));
  try {
    return await change();
  } finally {
    const next = turns.next.shift();
    if (next !== undefined) next();
    else if (--turns.underWay === 0) waiting.delete(who);
  }
}

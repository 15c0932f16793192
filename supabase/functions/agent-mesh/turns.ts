import type { CallerArgument } from "../_shared/request/caller.ts";

/** As many changes of one agent at a time as the SQL function mesh.take_turn lets in. */
const TURNS_PER_KEY = 4;

/** By the hash of an agent key: who waits for a turn. Only keys that have a change under way. */
const waiting = new Map<
  string,
  { underWay: number; readonly next: (() => void)[] }
>();

/**
 * Does a change to the mesh when it is its turn among those of the same agent key in this process.
 * In the database they would wait for each other too, each with a connection that others need. The
 * operator waits for nobody.
 */
export async function inTurn<Result>(
  { key_hash }: CallerArgument,
  change: () => Promise<Result>,
): Promise<Result> {
  if (key_hash === undefined) return await change();
  const turns = waiting.get(key_hash) ?? { underWay: 0, next: [] };
  waiting.set(key_hash, turns);
  if (turns.underWay < TURNS_PER_KEY) turns.underWay++;
  // Whoever ends hands its turn on.
  else await new Promise<void>((resolve) => turns.next.push(resolve));
  try {
    return await change();
  } finally {
    const next = turns.next.shift();
    if (next !== undefined) next();
    else if (--turns.underWay === 0) waiting.delete(key_hash);
  }
}

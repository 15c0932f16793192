import { ACTORS, type Move } from "./registry.ts";
import type { Choice, Decisions } from "./world/decisions.ts";

/** How busy an actor is in one history: not at all, as usual, or very. */
const BUSY = [0, 0, 1, 1, 4];
/** Without files, most other actors have nothing to do. */
const OWNER_BUSY = [0.5, 1, 3];

/** Whoever was named is there to act. */
const NAMED_BUSY = [1, 4];

/** The moves of one history. */
export interface Swarm {
  /** Made first, one after the other and without a fault, so that the others find something. */
  readonly beginning: readonly Move[];
  /** With their weights. */
  readonly moves: readonly [Choice<Move>, ...Choice<Move>[]];
}

/**
 * Each seed leaves some actors out and makes others busy. So the steps of a history are spent on
 * few subjects, and on different ones in each history. If all actors took part in every history,
 * hardly any would reach the fifth step of the same subject.
 */
export function swarmOf(
  decisions: Decisions,
  { absent = [], acting: named = [] }: {
    readonly absent?: readonly string[];
    readonly acting?: readonly string[];
  },
): Swarm {
  const acting = Object.entries(ACTORS).flatMap(([actor, { moves, beginsWith, isOptional }]) => {
    if (absent.includes(actor) || isOptional && !named.includes(actor)) return [];
    const busy = actor === "owner" ? OWNER_BUSY : isOptional ? NAMED_BUSY : BUSY;
    const factor = decisions.random(`how busy ${actor} is`).pick(busy);
    return factor === 0 ? [] : [{ moves, beginsWith, factor }];
  });
  const choices = acting.flatMap(({ moves, factor }) =>
    moves.map((move): Choice<Move> => [factor * move.weight, move])
  );
  return {
    beginning: acting.flatMap(({ moves, beginsWith }) =>
      moves.filter(({ name }) => name === beginsWith)
    ),
    moves: choices as [Choice<Move>, ...Choice<Move>[]],
  };
}

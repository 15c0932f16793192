import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";

/** Sweeps once. Returns what is left; null: no answer. */
export async function sweep(turn: Turn): Promise<number | null> {
  const { answer, status } = await turn.ask("/agent-artifacts/sweep", "operator", { limit: 100 });
  return status === 200 ? Number(answer!["remaining"]) : null;
}

export const OPERATOR_MOVES: readonly Move[] = [
  {
    name: "operator sweeps",
    weight: 2,
    async play(turn) {
      turn.say("operator sweeps");
      await sweep(turn);
    },
  },
];

import { parseArgs } from "node:util";
import type { Question } from "../history.ts";
import { FIRST_OPENING } from "../world/decisions.ts";

export const USAGE = `Plays histories of the whole service, which a seed decides.

  deno task simulate --seed 7 [--steps 40]          print one history
  deno task simulate --seeds 1000 [--steps 40]      play seeds 1 to 1000; --seeds 500..900 also works

  --only 3,8        make only the moves of these steps, and those of the beginning
  --without 1002    but not these moves of the beginning
  --calm "a;b"      these decisions go the ordinary way
  --processes 2     how many processes share the seeds
  --with ACTOR,…    also with actors that take part only so: hosts, policies
  --break NAME      with the named file of tests/simulation/breaks/
`;

/** What the command line asks for. */
export interface Command {
  readonly question: Question | null;
  /** The first and the last seed; null: one history is printed. */
  readonly seeds: readonly [number, number] | null;
  readonly steps: number;
  readonly processes: number;
  readonly breakName: string | null;
  /** Optional actors who may take part. */
  readonly acting: readonly string[];
  /** Which of the processes this is; null: none of them. */
  readonly worker: number | null;
}

/** Null: the arguments make no sense. */
export function readCommand(args: string[]): Command | null {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      steps: { type: "string", default: "40" },
      only: { type: "string" },
      without: { type: "string" },
      calm: { type: "string" },
      processes: { type: "string", default: "2" },
      with: { type: "string" },
      break: { type: "string" },
      worker: { type: "string" },
    },
  });
  const steps = Number(values.steps);
  const [, first, last] = /^(?:(\d+)\.\.)?(\d+)$/.exec(values.seeds ?? "") ?? [];
  const seed = Number(values.seed ?? NaN);
  if ((last === undefined) === Number.isNaN(seed) || !(steps >= 0 && steps < FIRST_OPENING)) {
    return null;
  }
  const only = values.only?.split(",").map(Number);
  const omitted = only === undefined
    ? []
    : Array.from({ length: steps }, (_, index) => index + 1).filter((step) => !only.includes(step));
  omitted.push(...values.without?.split(",").map(Number) ?? []);
  const calm = new Set(values.calm?.split(";"));
  return {
    question: last === undefined
      ? { seed, steps, omissions: { steps: new Set(omitted), calm } }
      : null,
    seeds: last === undefined ? null : [Number(first ?? 1), Number(last)],
    steps,
    processes: Number(values.processes),
    breakName: values.break ?? null,
    acting: values.with?.split(",") ?? [],
    worker: values.worker === undefined ? null : Number(values.worker),
  };
}

/** The command line that plays exactly this history. */
export function commandOf(
  { seed, steps, omissions, acting = [] }: Question,
  breakName: string | null,
): string {
  const omitted = omissions?.steps ?? new Set();
  const without = [...omitted].filter((step) => step >= FIRST_OPENING);
  const kept = Array.from({ length: steps }, (_, index) => index + 1)
    .filter((step) => !omitted.has(step));
  const calm = [...omissions?.calm ?? []];
  return [
    `deno task simulate --seed ${seed} --steps ${steps}`,
    ...(kept.length === steps ? [] : [`--only ${kept.join(",")}`]),
    ...(without.length === 0 ? [] : [`--without ${without.join(",")}`]),
    ...(calm.length === 0 ? [] : [`--calm "${calm.join(";")}"`]),
    ...(acting.length === 0 ? [] : [`--with ${acting.join(",")}`]),
    ...(breakName === null ? [] : [`--break ${breakName}`]),
  ].join(" ");
}

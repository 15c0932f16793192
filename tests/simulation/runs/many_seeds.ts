import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { TextLineStream } from "./text_lines.ts";
import { type Command, commandOf } from "./command.ts";

/** What a process says after each seed, as a line of JSON. */
export interface Report {
  readonly seed: number;
  /** Null: every invariant held. */
  readonly broken: string | null;
}

export type Range = Pick<Command, "steps" | "processes" | "breakName" | "acting"> & {
  readonly seeds: readonly [first: number, last: number];
};

/** What became of a range of seeds. */
export interface Played {
  readonly seeds: number;
  readonly seconds: number;
  /** At most one of each process: the first one ends the run. */
  readonly failures: readonly Report[];
}

const STATE_FOLDER = new URL("../../../.local/simulation/", import.meta.url);
const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
/** A new process from time to time, so that a million seeds need no more memory than a thousand. */
const SEEDS_OF_A_PROCESS = 2000;

/** Plays a range of seeds as `playRange` does, and goes on where an interrupted run has stopped. */
export async function playSeeds(range: Range): Promise<readonly Report[]> {
  const { seeds: [first, last], steps, processes, breakName, acting } = range;
  await mkdir(STATE_FOLDER, { recursive: true });
  const words = [
    first,
    last,
    steps,
    processes,
    breakName?.replaceAll("/", "_") ?? "none",
    ...acting,
  ];
  const file = new URL(`${words.join("-")}.json`, STATE_FOLDER);
  const next: number[] = await readFile(file, "utf8")
    .then((text) => JSON.parse(text), () => firstSeeds(range));
  // A run that is killed while it writes must leave what it had written before.
  const unfinished = new URL(`${file.href}.new`);
  let saved = Promise.resolve();
  const save = () =>
    saved = saved.then(async () => {
      await writeFile(unfinished, JSON.stringify(next));
      await rename(unfinished, file);
    });
  const { seeds, seconds, failures } = await playRange(range, next, save);
  console.log(
    `${seeds} seeds of ${steps} moves in ${seconds} s, ${failures.length} of them broken`,
  );
  if (failures.length === 0) await rm(file, { force: true });
  else console.log("The same command goes on with the seeds after it.");
  return failures;
}

function firstSeeds({ seeds: [first], processes }: Range): number[] {
  return Array.from({ length: processes }, (_, index) => first + index);
}

/**
 * Plays a range of seeds in several processes, and stops at a seed that breaks an invariant. `next`
 * has the next seed of each process; `save` is called now and then after it has changed.
 */
export async function playRange(
  range: Range,
  next: number[] = firstSeeds(range),
  save: () => Promise<void> = () => Promise.resolve(),
): Promise<Played> {
  const { seeds: [, last], steps, processes, breakName, acting } = range;
  const startedAt = performance.now();
  const failures: Report[] = [];
  const children = new Set<Deno.ChildProcess>();
  let seeds = 0;

  async function playShare(index: number): Promise<void> {
    const end = Math.min(last, next[index]! + (SEEDS_OF_A_PROCESS - 1) * processes);
    const child = startShare(range, [next[index]!, end], index);
    children.add(child);
    for await (const line of child.stdout.pipeThrough(new TextLineStream())) {
      const { seed, broken } = JSON.parse(line) as Report;
      seeds++;
      next[index] = seed + processes;
      if (broken !== null) {
        failures.push({ seed, broken });
        console.log(`seed ${seed}: ${broken}\n  ${commandOf({ seed, steps, acting }, breakName)}`);
        for (const one of children) stop(one);
      }
      if (seeds % 20 === 0 || broken !== null) await save();
    }
    children.delete(child);
    const { success } = await child.status;
    if (!success && failures.length === 0) throw new Error(`Process ${index} has failed.`);
  }

  await Promise.all(next.map(async (_, index) => {
    while (next[index]! <= last && failures.length === 0) await playShare(index);
  }));
  return { seeds, seconds: Math.round((performance.now() - startedAt) / 1000), failures };
}

function stop(child: Deno.ChildProcess): void {
  try {
    child.kill();
  } catch {
    // It has ended by itself.
  }
}

/** A process that plays every seed of a range that is its own. */
function startShare(
  { steps, processes, breakName, acting }: Range,
  [first, last]: readonly [number, number],
  index: number,
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      MAIN,
      "--seeds",
      `${first}..${last}`,
      "--steps",
      `${steps}`,
      "--processes",
      `${processes}`,
      "--worker",
      `${index}`,
      ...(acting.length === 0 ? [] : ["--with", acting.join(",")]),
      ...(breakName === null ? [] : ["--break", breakName]),
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

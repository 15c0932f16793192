import { rm } from "node:fs/promises";
import { CommandError } from "../../../../packages/command/command_error.ts";
import { runTask } from "../../../../packages/command/run_task.ts";
import { type Failure, runMany } from "./run/many.ts";
import { kindOf, shrink } from "./run/shrink.ts";
import { simulate } from "./simulate.ts";

const TASK = "deno task simulate:packets";

await runTask({
  task: "simulate:packets",
  summary: "Simulate sandbox peers, their network and its faults. A seed decides everything.",
  example: "deno task simulate:packets --seed=14",
  options: {
    seed: { type: "string", help: "prints one history" },
    only: { type: "string", help: "keeps these decisions of the seed, for example 3,8" },
    seeds: { type: "string", help: "instead: runs so many seeds, and prints those that fail" },
    from: { type: "string", help: "the first of them (default 1)" },
    processes: { type: "string", help: "how many run at once (default 2)" },
    "start-over": { type: "boolean", help: "does not continue an interrupted run of as many" },
  },
  run: async ({ values }) => {
    if (values.seeds === undefined) {
      const seed = wholeNumber("seed", values.seed ?? "1");
      const only = values.only === undefined
        ? null
        : String(values.only).split(",").map((each) => wholeNumber("only", each));
      return await showOne(seed, only);
    }
    const [count, from, processes] = ([["seeds", "1"], ["from", "1"], ["processes", "2"]] as const)
      .map(([name, otherwise]) => wholeNumber(name, values[name] ?? otherwise)) as [
        number,
        number,
        number,
      ];
    const file = `.local/packet_simulation/${from}-${count}.json`;
    if (values["start-over"] === true) await rm(file, { force: true });
    const began = performance.now();
    const failures = await runMany({
      from,
      count,
      processes,
      file,
      onShare: (done) => console.log(`${done} of ${count} seeds`),
    });
    await rm(file, { force: true });
    console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`);
    for (const failure of failures.slice(0, 5)) await explain(failure);
    if (failures.length === 0) return;
    const seeds = failures.map(({ seed }) => seed).join(", ");
    throw new CommandError(`${failures.length} of ${count} seeds fail: ${seeds}`);
  },
});

async function showOne(seed: number, only: readonly number[] | null): Promise<void> {
  const { transcript, findings } = await simulate({ seed, only });
  console.log(transcript.join("\n"));
  if (findings.length === 0) return;
  if (only === null) await explain({ seed, findings });
  throw new CommandError(`Seed ${seed} fails.`);
}

/** Prints what a seed has found, and the shortest history that still finds it. */
async function explain({ seed, findings }: Failure): Promise<void> {
  console.log(`\nseed ${seed}: ${TASK} --seed=${seed}`);
  for (const finding of findings) console.log(`  ${finding}`);
  const { decisions } = await simulate({ seed });
  const kept = await shrink(seed, { kind: kindOf(findings[0]!), decisions });
  console.log(`  ${kept.length} of its ${decisions} decisions are enough:`);
  console.log(`  ${TASK} --seed=${seed} --only=${kept.join(",") || "0"}`);
}

function wholeNumber(name: string, text: unknown): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) {
    throw new CommandError(`--${name} must be a whole number.`);
  }
  return number;
}

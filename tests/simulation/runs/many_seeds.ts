import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { TextLineStream } from "./text_lines.ts";
import { type Command, commandOf } from "./command.ts";

/** What a process says after each seed, as a line of JSON. */
export interface Report {
  readonly seed: number;
  /** Null: every invariant held. */
  readonly broken: string | null;
}

/** What is kept between two runs of the same seeds. */
interface Progress {
  /** The next seed of each process. */
  readonly next: number[];
  readonly failures: Report[];
}

const STATE_FOLDER = new URL("../../../.local/simulation/", import.meta.url);

/** Plays many seeds in several processes. Goes on where an interrupted run has stopped. */
export async function playSeeds(
  { seeds, steps, processes, breakName }: Command,
): Promise<readonly Report[]> {
  const [first, last] = seeds!;
  const file = new URL(
    `${[first, last, steps, processes, breakName ?? "none"].join("-")}.json`,
    STATE_FOLDER,
  );
  const fresh = Array.from({ length: processes }, (_, index) => first + index);
  const progress: Progress = await readFile(file, "utf8")
    .then((text) => JSON.parse(text) as Progress, () => ({ next: fresh, failures: [] }));
  await mkdir(STATE_FOLDER, { recursive: true });
  const startedAt = performance.now();
  let played = 0;

  await Promise.all(progress.next.map(async (next, index) => {
    if (next > last) return;
    const name = breakName === null ? [] : ["--break", breakName];
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--allow-all", fileURLToPath(new URL("../main.ts", import.meta.url))],
        ...["--seeds", `${next}..${last}`, "--steps", `${steps}`],
        ...["--processes", `${processes}`, "--worker", `${index}`, ...name],
      ],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    for await (const line of process.stdout.pipeThrough(new TextLineStream())) {
      const report = JSON.parse(line) as Report;
      played++;
      progress.next[index] = report.seed + processes;
      if (report.broken !== null) {
        progress.failures.push(report);
        const question = { seed: report.seed, steps };
        console.log(`seed ${report.seed}: ${report.broken}\n  ${commandOf(question, breakName)}`);
      }
      if (played % 20 === 0) await writeFile(file, JSON.stringify(progress));
    }
    if (!(await process.status).success) throw new Error(`Process ${index} has failed.`);
  }));

  await rm(file, { force: true });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `${played} seeds of ${steps} moves in ${seconds} s, ${progress.failures.length} of them broken`,
  );
  return progress.failures;
}

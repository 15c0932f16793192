import { fileURLToPath } from "node:url";
import { runProgramTask } from "../../local/command/run_task.ts";
import { addCounts, describeCounts, type TestCounts } from "./test_counts.ts";

const TEST = fileURLToPath(new URL("./test.ts", import.meta.url));

/** Stands between the arguments of one run and those of the next. */
const SEPARATOR = "+";

/**
 * Runs several `test.ts` at once, each with its own arguments and on its own stack: tests mostly
 * wait. What stands behind the last `+` is for all of them. Shows what the first one prints as it
 * comes, that of the others when they have ended, and then the sum of all. Resolves to the exit
 * code.
 *
 *   side_by_side.ts tests/database + tests/unit + --filter /health
 */
async function main(): Promise<number> {
  const groups = splitArguments(Deno.args);
  const common = groups.pop()!;
  const runs = await Promise.all(
    groups.map((files, index) => run([...files, ...common], { isShown: index === 0 })),
  );
  for (const { hidden } of runs) await Deno.stdout.write(hidden);
  console.log(describeCounts(addCounts(runs.map(({ counts }) => counts))));
  return runs.find(({ code }) => code !== 0)?.code ?? 0;
}

function splitArguments(args: readonly string[]): string[][] {
  const groups: string[][] = [[]];
  for (const argument of args) {
    if (argument === SEPARATOR) groups.push([]);
    else groups.at(-1)!.push(argument);
  }
  return groups;
}

/** One run. It ends by itself when this process does. */
async function run(args: readonly string[], { isShown }: { isShown: boolean }) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", TEST, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const printed: Uint8Array[] = [];
  async function follow(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of stream) {
      printed.push(chunk);
      if (isShown) await Deno.stdout.write(chunk);
    }
  }
  const [{ code }] = await Promise.all([child.status, follow(child.stdout), follow(child.stderr)]);
  const output = Buffer.concat(printed);
  const counts = countsIn(output.toString());
  return {
    // What ended without counts has failed.
    code: counts === null ? code || 1 : code,
    counts: counts ?? { passed: 0, failed: 1, skipped: 0 },
    hidden: isShown ? new Uint8Array() : output,
  };
}

/** What the last line of counts says. */
function countsIn(output: string): TestCounts | null {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)];
  const [, passed, failed, skipped = 0] = lines.at(-1) ?? [];
  return passed === undefined
    ? null
    : { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
}

await runProgramTask(async () => Deno.exit(await main()));

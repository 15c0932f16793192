import { writeFileSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";
import { filesToRepeat, withRepeated } from "./units/repeat.ts";
import { addCounts, describeCounts, type TestCounts } from "./units/test_counts.ts";
import { unitsOf, withTestFiles } from "./units/test_files.ts";
import { readResults, writeQueue } from "./units/queue.ts";
import { describeCosts } from "./units/costs.ts";
import { measureIdle } from "./units/processor_time.ts";
import { openTemplate } from "../../packages/local/postgres/template.ts";

/** The line that `deno test` writes after it has run all its files. */
const END_OF_UNIT = /^(?:ok|FAILED) \| .*\n$/m;
const TEST = fileURLToPath(new URL("./test.ts", import.meta.url));

/**
 * Runs test files on several stacks at once, because tests mostly wait. A unit is a few test
 * files of one folder. Each stack takes the next unit when it has finished one. Shows the output of
 * the first stack as it comes, that of the others unit by unit, which units cost most, how idle the
 * machine was, and then the sum of all. A file that failed beside others is run once more, alone
 * (see repeat.ts). Resolves to the exit code.
 *
 *   side_by_side.ts --stacks=3 --ignore=tests/database/sweep tests/database tests/unit
 *
 *   --stacks=<n>        how many stacks
 *   --each              makes each file a unit
 *   --ignore=<folder>   leaves out the tests below a folder; may be given more than once
 *   --filter=<text>     as in `deno test`
 *   --postgres=<major>  as in test.ts
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      stacks: { type: "string" },
      each: { type: "boolean", default: false },
      ignore: { type: "string", multiple: true, default: [] },
      filter: { type: "string" },
      postgres: { type: "string" },
    },
  });
  const stacks = Number(values.stacks);
  if (!(stacks >= 1)) throw new CommandError("--stacks says how many, such as --stacks=2.");
  const ignored = values.ignore.map((folder) => `--ignore=${folder}`);
  const units = unitsOf(await withTestFiles([...ignored, ...positionals]), values);
  if (units.length === 0) throw new CommandError("There are no such tests.");
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-tests-" });
  try {
    const queue = join(directory, "queue");
    await writeQueue(queue, units);
    // Open to other users, because PostgreSQL runs as another user if this process is root.
    await chmod(directory, 0o711);
    const builds = process.env["SHARED_BUILDS"] ?? join(directory, "builds");
    await mkdir(builds, { recursive: true });
    await chmod(builds, 0o711);
    const args = [
      ...(values.filter === undefined ? [] : [`--filter=${values.filter}`]),
      ...(values.postgres === undefined ? [] : [`--postgres=${values.postgres}`]),
    ];
    if (values.postgres === undefined) {
      // Before the stacks: if they begin at once, each would make its own.
      await openTemplate({ folder: builds, postgresDirectory: null });
    }
    const count = Math.min(stacks, units.length);
    const idleShare = measureIdle();
    const runs = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        run([`--queue=${queue}`, ...args], {
          isLive: index === 0,
          share: `${index}/${count}`,
          builds,
        })),
    );
    const idle = `Idle while they ran: ${
      (100 * idleShare()).toFixed(0)
    } % of the processors' time.`;
    const results = await readResults(queue);
    const counts = addCounts(runs);
    const repeat = filesToRepeat(results);
    const last = repeat === null ? counts : withRepeated(
      counts,
      repeat.counts,
      await runAgain(repeat.files, { args, builds }),
    );
    for (const line of describeCosts(results)) console.log(line);
    console.log(idle);
    console.log(describeCounts(last));
    return last.failed === 0 ? 0 : 1;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs files that failed beside others once more, on a stack of their own. */
async function runAgain(
  files: readonly string[],
  { args, builds }: { readonly args: readonly string[]; readonly builds: string },
): Promise<TestCounts> {
  for (const file of files) console.log(`Failed beside other tests, is run once more: ${file}`);
  const counts = await run([...args, ...files], { isLive: true, share: "0/1", builds });
  const result = counts.failed === 0 ? "passes alone" : "fails alone, too";
  console.log(`Run once more: ${result} (${files.join(", ")})`);
  return counts;
}

interface RunOptions {
  readonly isLive: boolean;
  /** Which of its ports, for free_port.ts. */
  readonly share: string;
  /**
   * A folder for what all stacks and their tests build once. SHARED_BUILDS names it, if several
   * suites have it in common.
   */
  readonly builds: string;
}

/**
 * Runs tests on one stack. A run that ends without counts has failed. The run ends by itself when
 * this process does.
 */
async function run(
  args: readonly string[],
  { isLive, share, builds }: RunOptions,
): Promise<TestCounts> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", TEST, ...args],
    env: { PORT_SHARE: share, SHARED_BUILDS: builds },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  let held = "";
  async function follow(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      held += text;
      if (isLive || END_OF_UNIT.test(held)) show();
    }
  }
  function show(): void {
    const shown = held;
    held = "";
    writeFileSync(1, shown);
  }
  const [{ code }] = await Promise.all([child.status, follow(child.stdout), follow(child.stderr)]);
  show();
  const counts = countsIn(output) ?? { passed: 0, failed: 1, skipped: 0 };
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** The counts in the last line that has any. */
function countsIn(output: string): TestCounts | null {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)];
  const [, passed, failed, skipped = 0] = lines.at(-1) ?? [];
  return passed === undefined
    ? null
    : { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
}

await runProgramTask(async () => Deno.exit(await main()));

import { chmod, readFile, rm } from "node:fs/promises";
import { isFree } from "../../packages/local/processes/free_port.ts";
import { findProcessesWith } from "../../packages/local/processes/find_processes.ts";
import { findSecretsInLogs } from "./log_secrets.ts";
import { removePostgresHome } from "../../packages/local/postgres/home.ts";
import { stopRequest } from "../../packages/local/processes/stop_request.ts";
import { stateFiles } from "../../packages/local/state/state_files.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { type Stack, stackEnvironment, startStack } from "../../packages/local/stack/stack.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";
import { installPostgres, readServerVersion, requireMajor } from "../postgres/other_version.ts";
import { LOCKED } from "../pins/pins.ts";
import { addCounts, countTests, describeCounts, type FileCounts } from "./units/test_counts.ts";
import { processorSecondsOfChildren } from "./units/processor_time.ts";
import { withTestFiles } from "./units/test_files.ts";
import { recordResult, takeUnits } from "./units/queue.ts";

const QUEUE = "--queue=";
const POSTGRES = "--postgres=";

/**
 * Runs `deno test` with this program's arguments against its own stack. A folder means the test
 * files below it. With `--queue=<folder>`, runs units from that queue until all are taken (see
 * side_by_side.ts). With `--postgres=18`, this stack and those that tests start run that
 * PostgreSQL. Resolves to the exit code.
 */
async function main(): Promise<number> {
  const stopRequested = stopRequest();
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-test-" });
  try {
    // Open to other users, because PostgreSQL runs as another user if this process is root.
    await chmod(stateDir, 0o711);
    const { stack, environment } = await startTestStack(stateDir, valueOf(POSTGRES));
    const { code, counts } = await runAll(stack, { environment, stopRequested })
      .finally(() => stack.stop());
    const complaints = [
      ...(await findLeftovers(stack)).map((leftover) => `Left behind: ${leftover}`),
      ...await findSecretsInLogs(stateFiles(stateDir).logs),
    ];
    for (const complaint of complaints) console.error(complaint);
    console.log(describeCounts({ ...counts, failed: counts.failed + complaints.length }));
    return complaints.length > 0 ? 1 : code;
  } finally {
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** The value of an option of this program. Undefined: it is not among the arguments. */
function valueOf(option: string): string | undefined {
  return Deno.args.find((argument) => argument.startsWith(option))?.slice(option.length);
}

/** Starts the stack, and prints its versions. `environment`: what its tests need of it. */
async function startTestStack(stateDir: string, major: string | undefined) {
  const postgresDirectory = major === undefined ? null : await installPostgres(stateDir, major);
  const stack = await startStack({ ...THROW_AWAY, stateDir, postgresDirectory });
  try {
    const version = await readServerVersion(stack.databaseUrl);
    console.log(`PostgreSQL ${version}`);
    if (major !== undefined) requireMajor(version, major);
  } catch (cause) {
    await stack.stop();
    throw cause;
  }
  const ofOwnStacks = postgresDirectory === null ? {} : { TEST_POSTGRES: postgresDirectory };
  return { stack, environment: { ...stackEnvironment(stack), ...ofOwnStacks } };
}

interface Result {
  readonly code: number;
  readonly counts: FileCounts;
}

interface RunOptions {
  /** Of the tests. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stopRequested: Promise<string>;
}

async function runAll(stack: Stack, options: RunOptions) {
  const queue = valueOf(QUEUE);
  const args = Deno.args.filter((argument) =>
    ![QUEUE, POSTGRES].some((option) => argument.startsWith(option))
  );
  if (queue === undefined) return await runTests(stack, { ...options, args });
  const results: Result[] = [];
  let isStopping = false;
  options.stopRequested.then(() => isStopping = true);
  for await (const unit of takeUnits(queue)) {
    if (isStopping) break;
    const start = performance.now();
    const processorStart = await processorSecondsOfChildren();
    const result = await runTests(stack, { ...options, args: [...args, ...unit] });
    results.push(result);
    await recordResult(queue, {
      unit,
      counts: result.counts,
      seconds: (performance.now() - start) / 1000,
      processorSeconds: await processorSecondsOfChildren() - processorStart,
    });
  }
  return {
    code: results.find(({ code }) => code !== 0)?.code ?? 0,
    counts: addCounts(results.map(({ counts }) => counts)),
  };
}

async function runTests(
  stack: Stack,
  { args, environment, stopRequested }: RunOptions & { readonly args: readonly string[] },
): Promise<Result> {
  const { testReport } = stateFiles(stack.stateDir);
  await rm(testReport, { force: true });
  const tests = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--allow-all",
      // No type checks: `deno task ok` and `.ci/run` check all files once.
      "--no-check",
      ...LOCKED,
      `--junit-path=${testReport}`,
      ...await withTestFiles(args),
    ],
    env: { ...environment, STATE_DIR: stack.stateDir },
  }).spawn();
  stopRequested.then(() => tests.kill("SIGTERM")).catch(() => {});
  const { code } = await tests.status;
  const counts = countTests(await readFile(testReport, "utf8").catch(() => ""));
  // A run that ended without a report has failed, but would not be counted.
  const isUncounted = code !== 0 && counts.failed === 0;
  return { code, counts: isUncounted ? { ...counts, failed: 1 } : counts };
}

/**
 * Processes and ports of the stack that are still in use after three seconds. A process may take a
 * moment to notice that its parent has ended.
 */
async function findLeftovers(stack: Stack): Promise<string[]> {
  for (let attempt = 1;; attempt++) {
    const leftovers = await lookForLeftovers(stack);
    if (leftovers.length === 0 || attempt === 30) return leftovers;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function lookForLeftovers(stack: Stack): Promise<string[]> {
  const leftovers = await findProcessesWith([stack.url, stack.stateDir]);
  for (const url of [stack.url, stack.databaseUrl]) {
    const port = Number(new URL(url).port);
    if (!await isFree(port)) leftovers.push(`a listener on port ${port}`);
  }
  return leftovers;
}

await runProgramTask(async () => Deno.exit(await main()));

import { chmod, readFile, rm } from "node:fs/promises";
import { isFree } from "../../local/processes/free_port.ts";
import { findProcessesWith } from "../../local/processes/find_processes.ts";
import { findSecretsInLogs } from "./log_secrets.ts";
import { removePostgresHome } from "../../local/postgres/home.ts";
import { stopRequest } from "../../local/processes/stop_request.ts";
import { stateFiles } from "../../local/state/state_files.ts";
import { THROW_AWAY } from "../../local/stack/options.ts";
import { type Stack, stackEnvironment, startStack } from "../../local/stack/stack.ts";
import { runProgramTask } from "../../local/command/run_task.ts";
import { countTests, describeCounts } from "./test_counts.ts";
import { withTestFiles } from "./test_files.ts";

/**
 * Runs `deno test` with this program's arguments against a stack of its own; a folder stands for
 * the test files below it. Resolves to the exit code.
 */
async function main(): Promise<number> {
  const stopRequested = stopRequest();
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-test-" });
  try {
    // Open to other users: when this is root, PostgreSQL runs as another user.
    await chmod(stateDir, 0o711);
    const stack = await startStack({ ...THROW_AWAY, stateDir });
    const code = await runTests(stack, stopRequested);
    await stack.stop();
    const complaints = [
      ...(await findLeftovers(stack)).map((leftover) => `Left behind: ${leftover}`),
      ...await findSecretsInLogs(stateFiles(stateDir).logs),
    ];
    for (const complaint of complaints) console.error(complaint);
    const report = await readFile(stateFiles(stateDir).testReport, "utf8").catch(() => "");
    const counts = countTests(report);
    console.log(describeCounts({ ...counts, failed: counts.failed + complaints.length }));
    return complaints.length > 0 ? 1 : code;
  } finally {
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function runTests(stack: Stack, stopRequested: Promise<string>): Promise<number> {
  const tests = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--allow-all",
      // `deno task ok` and `.ci/run` check the types of all files, once.
      "--no-check",
      `--junit-path=${stateFiles(stack.stateDir).testReport}`,
      ...await withTestFiles(Deno.args),
    ],
    env: { ...stackEnvironment(stack), STATE_DIR: stack.stateDir },
  }).spawn();
  stopRequested.then(() => tests.kill("SIGTERM")).catch(() => {});
  return (await tests.status).code;
}

/**
 * What still runs or listens after three seconds: a process may take a moment to see that its
 * parent has gone.
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

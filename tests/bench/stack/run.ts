/**
 * The stack of a measurement, in a process of its own, so that what the gateway costs is told apart
 * from what measures. STATE_DIR, which goes when this stops, and PORT say where. Prints a line of
 * JSON when it is ready: see BenchStack.
 */
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { removePostgresHome } from "../../../local/postgres/home.ts";
import { stopRequest } from "../../../local/processes/stop_request.ts";
import { startFunction } from "../../../local/stack/functions.ts";
import { readStackOptions } from "../../../local/stack/options.ts";
import { startStack } from "../../../local/stack/stack.ts";
import { runningProcesses } from "../../../local/state/process_records.ts";

const BENCH_DIRECTORY = fileURLToPath(new URL("..", import.meta.url));
const stopRequested = stopRequest();
const options = readStackOptions();
const { stateDir } = options;
const stack = await startStack({
  ...options,
  durable: false,
  functionNames: ["agent-artifacts", "agent-mesh", "bare"],
  startFunction: (options) =>
    startFunction(
      options.name === "bare" ? { ...options, functionsDirectory: BENCH_DIRECTORY } : options,
    ),
});
const pids = Object.fromEntries(
  Array.from(await runningProcesses(stateDir), ([name, { pid }]) => [name, pid]),
);
const { url, secretKey, serviceRoleKey, superuserDatabaseUrl } = stack;
console.log(JSON.stringify({ url, secretKey, serviceRoleKey, superuserDatabaseUrl, pids }));
await stopRequested;
await stack.stop();
// Here, not in the process that measures: that one may have been killed.
await removePostgresHome(stateDir);
await rm(stateDir, { recursive: true, force: true });
Deno.exit(0);

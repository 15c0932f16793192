/**
 * The stack of a measurement, in its own process, so that the cost of the gateway is separate from
 * the cost of measuring. STATE_DIR (deleted when the stack stops) and PORT configure it. Prints one
 * line of JSON when it is ready: see BenchStack.
 */
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { removePostgresHome } from "../../../packages/local/postgres/home.ts";
import { stopRequest } from "../../../packages/local/processes/stop_request.ts";
import { startFunction } from "../../../packages/local/stack/functions.ts";
import { readStackOptions } from "../../../packages/local/stack/options.ts";
import { startStack } from "../../../packages/local/stack/stack.ts";
import { runningProcesses } from "../../../packages/local/state/process_records.ts";

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
// Delete the folder here, because the process that measures may have been killed.
await removePostgresHome(stateDir);
await rm(stateDir, { recursive: true, force: true });
Deno.exit(0);

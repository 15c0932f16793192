import { fileURLToPath } from "node:url";
import { freePort } from "../../packages/local/processes/free_port.ts";
import {
  type FunctionOptions,
  type RunningFunction,
  startFunction,
} from "../../packages/local/stack/functions.ts";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "./hosted_deno.ts";
import type { PackedFunction } from "./pack.ts";

const SERVE_ON_PORT = fileURLToPath(new URL("./serve_on_port.ts", import.meta.url));

/** What is needed to run a packed function. */
export type Runnable = Pick<PackedFunction, "name" | "directory" | "entryPoint" | "configFile">;

/**
 * Like `startFunction`, but with only the packed files, and with the Deno and the deno.json that
 * the platform uses.
 */
export async function startHostedFunction(
  packed: Runnable,
  options: FunctionOptions,
): Promise<RunningFunction> {
  const port = options.port ?? await freePort();
  return await startFunction({
    ...options,
    port,
    environment: { ...HOSTED_DENO_ENVIRONMENT, ...options.environment },
    program: { deno: await locateHostedDeno(), args: hostedArguments(packed, port) },
  });
}

/**
 * The arguments of `deno run`, after the permissions, that make a packed function listen on a
 * loopback port. The hosted Deno reads only lock files that it wrote itself. Without a lock file,
 * the exact pins decide which packages are loaded.
 */
export function hostedArguments(packed: Runnable, port: number, lockFile?: string): string[] {
  return [
    `--config=${packed.configFile}`,
    lockFile === undefined ? "--no-lock" : `--lock=${lockFile}`,
    `--allow-read=${packed.directory}`,
    SERVE_ON_PORT,
    String(port),
    packed.entryPoint,
  ];
}

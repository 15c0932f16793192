import { fileURLToPath } from "node:url";
import { freePort } from "../free_port.ts";
import { type FunctionOptions, type RunningFunction, startFunction } from "../functions.ts";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "./hosted_deno.ts";
import type { PackedFunction } from "./pack.ts";

const SERVE_ON_PORT = fileURLToPath(new URL("./serve_on_port.ts", import.meta.url));

/** As `startFunction`, of packed files alone, by the Deno and the configuration that the platform would use. */
export async function startHostedFunction(
  packed: Pick<PackedFunction, "directory" | "entryPoint" | "configFile">,
  options: FunctionOptions,
): Promise<RunningFunction> {
  const port = options.port ?? await freePort();
  return await startFunction({
    ...options,
    port,
    environment: { ...HOSTED_DENO_ENVIRONMENT, ...options.environment },
    program: {
      deno: await locateHostedDeno(),
      args: [
        `--config=${packed.configFile}`,
        // It cannot read the newer form of lock files; pins are exact.
        "--no-lock",
        `--allow-read=${packed.directory}`,
        SERVE_ON_PORT,
        String(port),
        packed.entryPoint,
      ],
    },
  });
}

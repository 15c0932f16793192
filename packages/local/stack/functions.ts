import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mkdir } from "node:fs/promises";
import { logTail, startChild } from "../processes/child_process.ts";
import { freePort } from "../processes/free_port.ts";
import { readableVariables } from "./function_environment.ts";
import { CommandError } from "../../command/command_error.ts";

export interface FunctionOptions {
  readonly name: string;
  /** Default: a free port. */
  readonly port?: number;
  /**
   * Hosts that the function may reach beside SUPABASE_URL, with or without a port. Default: none.
   */
  readonly reachableHosts?: readonly string[];
  /** All environment variables of the function. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Default: the project's own functions. */
  readonly functionsDirectory?: string;
  /**
   * The Deno to run, and its arguments after the permissions. Default: this Deno, the function's
   * index.ts and its deno.json.
   */
  readonly program?: { readonly deno: string; readonly args: readonly string[] };
}

export interface RunningFunction {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** `http://127.0.0.1:<port>`. Paths begin with the function's name. */
  readonly url: string;
  /** Resolves when the process has ended, with a few words that say how. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
  /** `kill -9`. */
  kill(): Promise<void>;
}

/** Long enough to download the packages that a function imports. */
const PATIENCE_MILLISECONDS = 120_000;

const FUNCTIONS_DIRECTORY = fileURLToPath(new URL("../../../supabase/functions/", import.meta.url));

/** What Deno itself needs to find its cache and to download packages. */
const RUNTIME_VARIABLES = [
  "HOME",
  "PATH",
  "DENO_DIR",
  "XDG_CACHE_HOME",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
  "NPM_CONFIG_REGISTRY",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
];

/** The variables whose URLs a function requests. */
const ADDRESSES = ["SUPABASE_URL", "MESH_TURN_CREDENTIALS_URL"];

/**
 * Starts an edge function in its own Deno process. It may only listen on its port, reach ADDRESSES
 * and `reachableHosts`, and read its variables. Resolves when it listens. Throws CommandError.
 */
export async function startFunction(options: FunctionOptions): Promise<RunningFunction> {
  const port = options.port ?? await freePort();
  const hosts = ADDRESSES.flatMap((name) => URL.parse(options.environment[name] ?? "")?.host ?? []);
  const { logFile } = options;
  await mkdir(dirname(logFile), { recursive: true });
  const directory = join(options.functionsDirectory ?? FUNCTIONS_DIRECTORY, options.name);
  const reachable = [`127.0.0.1:${port}`, ...hosts, ...options.reachableHosts ?? []];
  const program = options.program ?? {
    deno: Deno.execPath(),
    args: [
      // As in a deployment: use the imports of the function's own deno.json, not of this project's.
      `--config=${join(directory, "deno.json")}`,
      // Without it, this Deno warns about every request whose abort signal is used.
      "--unstable-no-legacy-abort",
      // A worker of the platform has 256 MB. Without a limit, V8 would let a busy function grow to
      // a gibibyte before it collects garbage.
      "--v8-flags=--max-old-space-size=512,--max-semi-space-size=4",
      join(directory, "index.ts"),
    ],
  };
  const child = await startChild({
    command: program.deno,
    args: [
      "run",
      "--no-prompt",
      `--allow-net=${reachable.join(",")}`,
      `--allow-env=${readableVariables(options.name).join(",")}`,
      ...program.args,
    ],
    environment: {
      ...runtimeEnvironment(),
      ...options.environment,
      DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
      DENO_NO_UPDATE_CHECK: "1",
      NO_COLOR: "1",
    },
    logFile,
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (!await answers(`${url}/${options.name}/health`)) {
    if (child.hasEnded() || Date.now() > deadline) {
      await child.terminate("SIGKILL");
      throw new CommandError(
        `The function ${options.name} did not start: ${await logTail(logFile)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    name: options.name,
    pid: child.pid,
    port,
    url,
    ended: child.ended,
    stop: () => child.terminate(),
    kill: () => child.terminate("SIGKILL"),
  };
}

/** Whether there is any HTTP answer, even an error. */
async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

function runtimeEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of RUNTIME_VARIABLES) {
    const value = Deno.env.get(name);
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

import assert from "node:assert/strict";
import { chmod, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, isFree } from "../../processes/free_port.ts";
import { findProcessesWith } from "../../processes/find_processes.ts";
import { hasRecords } from "../../state/process_records.ts";
import { resetState } from "../../stack/reset.ts";
import { stateFiles } from "../../state/state_files.ts";

const PROJECT = fileURLToPath(new URL("../../../..", import.meta.url));

/**
 * A separate state directory, removed with everything in it when the test ends. It is inside the
 * test run's state directory, so it is also removed when the run is aborted.
 */
export async function openStateDirectory() {
  const path = await Deno.makeTempDir({ dir: Deno.env.get("STATE_DIR")!, prefix: "stack-" });
  await chmod(path, 0o711);
  return {
    path,
    async [Symbol.asyncDispose]() {
      if (await hasRecords(path)) await resetState(path);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** A copy of a state directory (`cp -a`), removed when the test ends. */
export async function copyStateDirectory(original: string) {
  const copy = await openStateDirectory();
  const { success } = await new Deno.Command("cp", {
    args: ["-a", `${original}/.`, copy.path],
  }).output();
  assert.equal(success, true);
  return copy;
}

/** Every file and directory below `directory`, with the files' contents. */
export async function snapshot(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const pairs = entries.map(async (entry): Promise<[string, string]> => {
    const path = join(entry.parentPath, entry.name);
    return [path, entry.isFile() ? await readFile(path, "utf8") : ""];
  });
  return Object.fromEntries((await Promise.all(pairs)).toSorted());
}

export interface TaskOptions {
  readonly args?: readonly string[];
  readonly environment?: Record<string, string>;
  /** A command that starts the task, such as `setpriv` with its options. */
  readonly through?: readonly string[];
}

/**
 * The program and the arguments of a task: `agentops agent list` is the operator's program with
 * these arguments. Anything else is a program's path.
 */
export function programOf(task: string): string[] {
  const [name, ...words] = task.split(" ");
  return name === "agentops" ? ["packages/operator/agentops/main.ts", ...words] : [task];
}

/** Runs a program, or a command such as `agentops agent list`, to its end. */
export async function runTask(program: string, options: TaskOptions = {}) {
  const command = [
    ...(options.through ?? []),
    Deno.execPath(),
    "run",
    "--allow-all",
    ...programOf(program),
    ...(options.args ?? []),
  ];
  const { code, stdout, stderr } = await new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: PROJECT,
    env: options.environment ?? {},
  }).output();
  return {
    code,
    output: new TextDecoder().decode(stdout).trim(),
    errors: new TextDecoder().decode(stderr).trim(),
  };
}

export interface LaunchOptions {
  readonly stateDir: string;
  readonly port?: number;
  /** Arguments of Deno. Default: those of `deno task start`. */
  readonly args?: readonly string[];
  readonly environment?: Record<string, string>;
  /** As in TaskOptions. */
  readonly through?: readonly string[];
}

/** The arguments of Deno in the task `start`. */
async function startArguments(): Promise<string[]> {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const { start } = tasks as { readonly start: string | { readonly command: string } };
  const [deno, ...args] = (typeof start === "string" ? start : start.command).split(" ");
  assert.equal(deno, "deno");
  return args;
}

/** Starts the service as a person would, and collects what it prints. */
export async function launch(options: LaunchOptions) {
  const port = options.port ?? await freePort();
  const command = [
    ...(options.through ?? []),
    Deno.execPath(),
    ...(options.args ?? await startArguments()),
  ];
  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: PROJECT,
    env: { ...options.environment, STATE_DIR: options.stateDir, PORT: String(port) },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  const output: string[] = [];
  const ready = Promise.withResolvers<string | null>();
  const outputEnded = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      output.push(...lines);
      const readyLine = lines.find((line) => line.startsWith("Ready"));
      if (readyLine !== undefined) ready.resolve(readyLine);
    }
    ready.resolve(null);
  })();

  return {
    pid: child.pid,
    port,
    url: `http://127.0.0.1:${port}`,
    output,
    errors,
    /** Waits for the Ready line; fails with what was printed if it never comes. */
    async ready(): Promise<string> {
      const line = await ready.promise;
      if (line === null) throw new Error(`No Ready line: ${output.join("\n")}\n${await errors}`);
      return line;
    },
    kill: (signal: Deno.Signal) => child.kill(signal),
    /** Resolves to the exit code when the whole output has been read. */
    async exit(): Promise<number> {
      const { code } = await child.status;
      await outputEnded;
      await errors;
      return code;
    },
  };
}

/** Far longer than any step takes, even on a busy machine. */
const PATIENCE_MILLISECONDS = 60_000;

/** Waits until no process of the service is left and its port is free. */
export async function awaitNothingLeft(
  { stateDir, port }: { readonly stateDir: string; readonly port: number },
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  let left: string[];
  do {
    left = await findProcessesWith([stateDir, `http://127.0.0.1:${port}`]);
    if (!await isFree(port)) left.push(`port ${port}`);
    if (left.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  } while (Date.now() < deadline);
  assert.deepEqual(left, []);
}

/** The lines of the `env` file of a state directory. */
export async function readEnvironment(stateDir: string): Promise<Record<string, string>> {
  const lines = (await readFile(stateFiles(stateDir).env, "utf8")).trim().split("\n");
  return Object.fromEntries(lines.map((line) => /^([^=]+)=(.*)$/.exec(line)!.slice(1)));
}

/** The process ids that the stack of `stateDir` recorded, by name. */
export async function recordedPids(stateDir: string): Promise<Record<string, number>> {
  const records: Record<string, { pid: number }> = JSON.parse(
    await readFile(stateFiles(stateDir).processRecords, "utf8"),
  );
  return Object.fromEntries(Object.entries(records).map(([name, { pid }]) => [name, pid]));
}

/** Waits until GET `url` answers 200. PostgREST reconnects with growing pauses. */
export async function awaitOk(url: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const response = await fetch(url);
      await response.body?.cancel();
      if (response.status === 200) return;
      last = response.status;
    } catch (cause) {
      last = cause;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${url} does not answer 200: ${last}`);
}

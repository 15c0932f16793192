import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Record<string, string>;
  /** Standard output and standard error are appended to this file. */
  readonly logFile: string;
  readonly workingDirectory?: string;
  /** The user to run as, if it is another one: only root can do that. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface Child {
  readonly pid: number;
  /** Resolves when the process has ended, with a few words that say how. */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Sends `name`, then SIGKILL if the process still runs after `patienceMilliseconds`. */
  terminate(name?: NodeJS.Signals, patienceMilliseconds?: number): Promise<void>;
}

/**
 * Starts a process in its own session. A Ctrl-C at the terminal then reaches only the stack, which
 * ends its children in order.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const log = openSync(options.logFile, "a", 0o600);
  const child = spawn(options.command, [...options.args], {
    stdio: ["ignore", log, log],
    env: options.environment,
    detached: true,
    ...(options.workingDirectory === undefined ? {} : { cwd: options.workingDirectory }),
    ...options.user,
  });
  closeSync(log);
  let hasEnded = false;
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      hasEnded = true;
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
  const pid = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    if (child.pid !== undefined) resolve(child.pid);
  });

  function signal(name: NodeJS.Signals): void {
    if (!hasEnded) child.kill(name);
  }

  async function terminate(
    name: NodeJS.Signals = "SIGTERM",
    patienceMilliseconds = 5_000,
  ): Promise<void> {
    signal(name);
    const killTimer = setTimeout(() => signal("SIGKILL"), patienceMilliseconds);
    await ended;
    clearTimeout(killTimer);
  }

  return { pid, ended, hasEnded: () => hasEnded, signal, terminate };
}

/**
 * The line of a log that best explains why its process ended: the last error, else the last line.
 */
export async function logTail(file: string): Promise<string> {
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) =>
    line.trim()
  );
  return lines.findLast((line) => /\b(?:error|fatal):/i.test(line)) ?? lines.at(-1) ??
    `nothing was logged in ${file}`;
}

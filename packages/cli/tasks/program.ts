import { type ChildProcessByStdio, spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { UsageError } from "../../command/usage_error.ts";
import { plain } from "../../command/terminal/output.ts";

/** How long a program that was told to end has time to do so. */
const GRACE_SECONDS = 10;
/** How long the output of a program that has ended is waited for: its children may hold it open. */
const DRAIN_SECONDS = 1;
/** How much of standard error is kept, in bytes. */
const KEPT_BYTES = 4096;
const LONGEST_LINE = 300;

export interface RunOptions {
  readonly folder: string;
  /** Variables in addition to those of this process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends the program. */
  readonly signal: AbortSignal;
  /** How long it may run; undefined: for any time. */
  readonly maxSeconds: number | undefined;
}

/** How a program ended. */
export interface Outcome {
  /** Null: a signal ended it. */
  readonly code: number | null;
  /** Why it failed, in one line; null: it did not. */
  readonly reason: string | null;
}

/**
 * The path of a program: a name with a slash counts from the current folder, any other is looked
 * for on the PATH. Throws UsageError if there is none, before a task is taken for it.
 */
export async function findProgram(name: string): Promise<string> {
  if (process.platform === "win32") return name;
  const paths = name.includes("/")
    ? [resolve(name)]
    : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder || ".", name));
  for (const path of paths) {
    if (await access(path, constants.X_OK).then(() => true, () => false)) return resolve(path);
  }
  throw new UsageError(`${plain(name)} is not a program that can be started.`);
}

/** The program cannot be started: no task can be blamed for it. */
export class CannotStart extends Error {
  override readonly name = "CannotStart";

  constructor(program: string, cause: unknown) {
    super(`${plain(program)} cannot be started: ${(cause as Error).message}`, { cause });
  }
}

type Program = ChildProcessByStdio<null, Readable, Readable>;

/** Gives it a process group of its own: what the program starts ends with it. */
function start(
  [program, ...args]: readonly [string, ...string[]],
  { folder, environment }: RunOptions,
): Program {
  try {
    return spawn(program, args, {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
    });
  } catch (cause) {
    // Deno may lack the permission.
    throw new CannotStart(program, cause);
  }
}

/** Runs a program, without a shell, until it has ended. Throws CannotStart. */
export async function runProgram(
  words: readonly [string, ...string[]],
  options: RunOptions,
): Promise<Outcome> {
  const { signal, maxSeconds } = options;
  const child = start(words, options);
  const lastLine = new LastLine();
  const drained = Promise.all([
    // Standard output has the results of this command.
    forward(child.stdout),
    forward(child.stderr, (bytes) => lastLine.add(bytes)),
  ]);
  const ended = new Promise<[code: number | null, by: string | null]>((resolve, reject) => {
    child.once("error", (cause) => reject(new CannotStart(words[0], cause)));
    child.once("exit", (code, by) => resolve([code, by]));
  });
  let isTooLong = false;
  const end = () => void endGroup(child, ended);
  const timer = maxSeconds === undefined ? undefined : setTimeout(() => {
    isTooLong = true;
    end();
  }, maxSeconds * 1000);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const [code, by] = await ended;
    await Promise.race([drained, new Promise((done) => setTimeout(done, DRAIN_SECONDS * 1000))]);
    return { code, reason: reasonOf({ code, by, isTooLong, maxSeconds }, lastLine.text) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

function reasonOf(
  { code, by, isTooLong, maxSeconds }: {
    readonly code: number | null;
    readonly by: string | null;
    readonly isTooLong: boolean;
    readonly maxSeconds: number | undefined;
  },
  lastLine: string,
): string | null {
  if (code === 0 && !isTooLong) return null;
  const how = isTooLong
    ? `Ended after ${maxSeconds} seconds`
    : code === null
    ? `Ended by ${by}`
    : `Exit code ${code}`;
  return lastLine === "" ? `${how}.` : `${how}: ${lastLine}`;
}

/** Ends a program and what it has started. */
async function endGroup(child: Program, ended: Promise<unknown>): Promise<void> {
  const kill = (by: NodeJS.Signals) => {
    try {
      if (process.platform === "win32") child.kill(by);
      else process.kill(-child.pid!, by);
    } catch {
      // All have ended, or the program was never started.
    }
  };
  kill("SIGTERM");
  const force = () => kill("SIGKILL");
  const timer = setTimeout(force, GRACE_SECONDS * 1000);
  // A second Ctrl-C. Without this listener, it would end this process, and not the program.
  process.on("SIGINT", force);
  await ended.catch(() => {});
  process.off("SIGINT", force);
  clearTimeout(timer);
  force();
}

/**
 * Copies output to standard error, as fast as that is read. Resolves at its end, however it ends:
 * what a program prints does not decide its outcome.
 */
function forward(from: Readable, onBytes: (bytes: Uint8Array) => void = () => {}): Promise<void> {
  return new Promise((resolve) => {
    from.on("data", (bytes: Uint8Array) => {
      onBytes(bytes);
      from.pause();
      process.stderr.write(bytes, () => void from.resume());
    });
    for (const event of ["end", "close", "error"]) from.once(event, () => resolve());
  });
}

/** The last line of a text that arrives in parts. */
class LastLine {
  #bytes = new Uint8Array();

  add(bytes: Uint8Array): void {
    const all = new Uint8Array(this.#bytes.length + bytes.length);
    all.set(this.#bytes);
    all.set(bytes, this.#bytes.length);
    this.#bytes = all.slice(-KEPT_BYTES);
  }

  /** Without control characters; the end, if it is long. */
  get text(): string {
    const lines = new TextDecoder().decode(this.#bytes).split(/[\r\n]+/).map((line) => line.trim());
    return plain(lines.findLast((line) => line !== "") ?? "").slice(-LONGEST_LINE);
  }
}

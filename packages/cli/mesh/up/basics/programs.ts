/** Runs `wg`, `ip` and `nft`, which change this host. */
import { type ChildProcess, spawn } from "node:child_process";

/** In bytes: more than `wg show dump` prints for a thousand peers. */
const MOST_OUTPUT = 64 * 2 ** 20;
const SECONDS = 20;

/** The program failed, or could not be started. Its message has no key in it. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";

  constructor(
    message: string,
    /** Whether the program was never started: it is missing, or there is no memory for it. */
    readonly isUnstarted: boolean,
  ) {
    super(message);
  }
}

/** Resolves to what the program prints. Throws ProgramError. */
export function run(
  program: string,
  args: readonly string[],
  options: { readonly input?: string } = {},
): Promise<string> {
  return new Started(program, args).finish(options.input ?? "");
}

/**
 * Like `run`, for a program that opens /dev/stdin. That is not possible with the socket that Node
 * gives to its children, so a shell makes a pipe of it.
 */
export function runWithPipe(
  program: string,
  args: readonly string[],
  { input }: { readonly input: string },
): Promise<string> {
  return run("sh", ["-c", 'cat | "$0" "$@"', program, ...args], { input });
}

/** A program that reads standard input. It may be started long before there is any. */
export class Started {
  readonly #program: string;
  readonly #child: ChildProcess | null;
  readonly #ended: Promise<string>;
  #output = "";
  #errors = "";
  isRunning = true;

  constructor(program: string, args: readonly string[]) {
    this.#program = program;
    let child: ChildProcess | null = null;
    let refusal: unknown = null;
    try {
      child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    } catch (error) {
      refusal = error;
    }
    this.#child = child;
    this.#ended = child === null ? Promise.reject(this.#unstarted(refusal)) : this.#end(child);
    this.#ended.catch(() => {}).finally(() => this.isRunning = false);
  }

  /** Gives the program its input, and waits until it ends. */
  async finish(input: string): Promise<string> {
    const limit = setTimeout(() => this.kill(), SECONDS * 1000);
    this.#child?.stdin?.end(input);
    return await this.#ended.finally(() => clearTimeout(limit));
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  /** Lets this process end although the program still waits for its input. */
  unref(): void {
    this.#child?.unref();
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) {
      (stream as { unref?: () => void } | null | undefined)?.unref?.();
    }
  }

  #end(child: ChildProcess): Promise<string> {
    // A program that ends early closes its input.
    child.stdin?.on("error", () => {});
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (this.#output.length < MOST_OUTPUT) this.#output += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (this.#errors.length < 4096) this.#errors += text;
    });
    return new Promise((resolve, reject) => {
      child.once("error", (error) => reject(this.#unstarted(error)));
      child.once("close", (code) => {
        if (code === 0) resolve(this.#output);
        else reject(new ProgramError(this.#sentence(), false));
      });
    });
  }

  #unstarted(error: unknown): ProgramError {
    const { code } = error as NodeJS.ErrnoException;
    return new ProgramError(`${this.#program} cannot be started: ${code ?? "it failed"}`, true);
  }

  /** `wg` repeats the line that it refuses, which may hold a key. */
  #sentence(): string {
    const [line = ""] = this.#errors.trim().split("\n");
    const text = line.replace(/[A-Za-z0-9+/]{40,}=*/g, "(a key)").slice(0, 300);
    return text === "" ? `${this.#program} failed` : text;
  }
}

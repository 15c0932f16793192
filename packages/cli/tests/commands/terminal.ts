/** Runs a program in a real terminal (a pty, made by util-linux's `script`). */
import assert from "node:assert/strict";

export interface PtyOptions {
  readonly columns: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export class Pty implements AsyncDisposable {
  readonly #script: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  #output = "";
  #isEnded = false;
  #changed = Promise.withResolvers<void>();

  constructor(program: string, args: readonly string[], { columns, cwd, env }: PtyOptions) {
    const command = [program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    const shell = `stty cols ${columns} rows 24 && exec ${command.join(" ")}`;
    this.#script = new Deno.Command("script", {
      args: ["--quiet", "--flush", "--return", "--command", shell, "/dev/null"],
      cwd,
      env: { ...env, SHELL: "/bin/sh", TERM: "xterm", COLUMNS: "", LINES: "" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#input = this.#script.stdin.getWriter();
    this.#reading = this.#read();
  }

  async type(text: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(text));
  }

  /** Waits until the terminal shows a text; returns everything that it has shown. */
  async untilShown(text: string): Promise<string> {
    while (!this.#output.includes(text) && !this.#isEnded) await this.#changed.promise;
    assert.ok(this.#output.includes(text), `${text} is not shown:\n${this.#output}`);
    return this.#output;
  }

  /** Waits for the end. Returns the exit code, and everything that the terminal has shown. */
  async ended(): Promise<{ code: number; shown: string }> {
    await this.#reading;
    const { code } = await this.#script.status;
    return { code, shown: this.#output };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Closing the terminal sends SIGHUP to its programs.
    await this.#input.close().catch(() => {});
    if (!this.#isEnded) this.#script.kill("SIGTERM");
    await this.ended();
  }

  async #read(): Promise<void> {
    for await (const text of this.#script.stdout.pipeThrough(new TextDecoderStream())) {
      this.#output += text;
      this.#announce();
    }
    this.#isEnded = true;
    this.#announce();
  }

  #announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Every line that was shown, including overwritten ones. */
export function linesIn(shown: string): string[] {
  // deno-lint-ignore no-control-regex
  return shown.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, "").split(/[\r\n]+/).filter(Boolean);
}

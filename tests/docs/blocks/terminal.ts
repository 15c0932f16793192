/** A shell that runs the blocks of the documentation unchanged. */
import assert from "node:assert/strict";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT } from "../../../packages/local/project.ts";

const SUPABASE = fileURLToPath(new URL("./supabase.ts", import.meta.url));

/**
 * Replaces npx: runs this Deno instead of the pinned one, with this project's tasks, and the tests'
 * Supabase CLI through `supabase.ts`. Other tests compare the versions.
 */
const NPX = `#!/bin/bash
set -e
# Left by the task that runs the tests; a task that finds it takes it for where it was called.
unset INIT_CWD
deno() { HOME=$READERS_HOME exec "$DENO" "$@"; }
case "$1 $2" in
  "-y deno@"*)
    shift 2
    [[ $1 != task ]] || set -- task --quiet --cwd "$PROJECT" "\${@:2}"
    deno "$@" ;;
  "supabase@"*) TERMINAL_HOME=$HOME deno run --allow-all "$SUPABASE" "\${@:2}" ;;
  *) echo "npx $*: the documentation has no such command" >&2; exit 1 ;;
esac
`;

export interface TerminalOptions {
  /** The folder in which the shell starts. Default: a new, empty one. */
  readonly folder?: string;
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that starts the shell, such as `ip netns exec` with its arguments. */
  readonly through?: readonly string[];
}

/** One shell with a separate home. Later blocks see what earlier ones have defined. */
export class Terminal implements AsyncDisposable {
  readonly #shell: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<unknown>;
  #output = "";
  #errors = "";
  #ended = false;
  #changed = Promise.withResolvers<void>();
  #pasted = 0;

  private constructor(readonly home: string, options: TerminalOptions) {
    const [program, ...args] = [
      // A separate process group, so that Ctrl-C reaches only the shell and its children.
      "setsid",
      ...(options.through ?? []),
      "bash",
      "--noprofile",
      "--norc",
      "-e",
      "-o",
      "pipefail",
    ];
    this.#shell = new Deno.Command(program!, {
      args,
      cwd: options.folder ?? home,
      env: {
        HOME: home,
        READERS_HOME: Deno.env.get("HOME") ?? "",
        PATH: `${home}/bin:${Deno.env.get("PATH")}`,
        DENO: Deno.execPath(),
        PROJECT,
        SUPABASE,
        ...options.environment,
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#shell.stdin.getWriter();
    this.#reading = Promise.all([
      this.#read(this.#shell.stdout, (text) => this.#output += text),
      this.#read(this.#shell.stderr, (text) => this.#errors += text),
    ]).finally(() => this.#announce({ ended: true }));
  }

  static async open(options: TerminalOptions = {}): Promise<Terminal> {
    const home = await Deno.makeTempDir({ prefix: "agent-mesh-reader-" });
    await mkdir(join(home, "bin"));
    await writeFile(join(home, "bin", "npx"), NPX);
    await chmod(join(home, "bin", "npx"), 0o755);
    return new Terminal(home, options);
  }

  /**
   * Runs a block to its end and returns what it printed. `typed` is the keyboard input of its
   * commands. If a command fails, the test fails with the whole output.
   */
  async paste(block: string, { typed = "" }: { typed?: string } = {}): Promise<string> {
    const begun = this.#output.length;
    const end = `end of block ${this.#pasted + 1}`;
    await this.begin(block, { end, typed });
    await this.#until(() => this.#output.includes(end, begun) || this.#ended);
    const printed = this.#output.slice(begun);
    assert.ok(printed.includes(end), `${block}\n${printed}\n${this.#errors}`);
    return printed.slice(0, printed.indexOf(end));
  }

  /** Like `paste`, without waiting for the end: for a block that runs until Ctrl-C. */
  async begin(block: string, { end = "", typed = "" } = {}): Promise<void> {
    this.#pasted += 1;
    const file = join(this.home, `block-${this.#pasted}.sh`);
    await writeFile(file, block);
    const lines = `. '${file}'; echo '${end}'\n${typed}`;
    await this.#input.write(new TextEncoder().encode(lines));
  }

  /** Waits until a text is printed. Returns everything printed so far. */
  async untilPrinted(text: string): Promise<string> {
    await this.#until(() => this.#output.includes(text) || this.#ended);
    assert.ok(this.#output.includes(text), `${this.#output}\n${this.#errors}`);
    return this.#output;
  }

  /** Sends Ctrl-C, then ends the shell. Resolves when the block and the shell have ended. */
  async interrupt(): Promise<void> {
    Deno.kill(-this.#shell.pid, "SIGINT");
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await rm(this.home, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    await this.#input.close().catch(() => {
      // The shell has ended by itself.
    });
    await this.#reading;
    await this.#shell.status;
  }

  async #read(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      take(text);
      this.#announce({ ended: false });
    }
  }

  #announce({ ended }: { ended: boolean }): void {
    this.#ended ||= ended;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#changed.promise;
  }
}

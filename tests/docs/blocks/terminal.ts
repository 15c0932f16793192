/** A shell in which the blocks of the documentation run as they stand. */
import assert from "node:assert/strict";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT } from "../../../local/command/project.ts";

const SUPABASE = fileURLToPath(new URL("./supabase.ts", import.meta.url));

/**
 * What the documentation calls by npx is run from here: this Deno for the pinned one, with the
 * tasks of this project, and the Supabase CLI that the tests have, as `supabase.ts` runs it. Other
 * tests compare the versions.
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
  /** Where the shell starts. Default: an empty folder of its own. */
  readonly folder?: string;
  /** Besides what this process has. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that runs the shell in its turn, such as `ip netns exec` with its arguments. */
  readonly through?: readonly string[];
}

/** One shell with a home of its own. What a block defines is there for the blocks after it. */
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
      // A group of its own, which Ctrl-C goes to.
      "setsid",
      ...(options.through ?? []),
      ...["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"],
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
   * Runs a block to its end and returns what it printed. `typed` is what its commands read from the
   * keyboard. A command that fails fails the test, with everything that was said.
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

  /** As `paste`, for a block that goes on until Ctrl-C: does not wait for its end. */
  async begin(block: string, { end = "", typed = "" } = {}): Promise<void> {
    this.#pasted += 1;
    const file = join(this.home, `block-${this.#pasted}.sh`);
    await writeFile(file, block);
    const lines = `. '${file}'; echo '${end}'\n${typed}`;
    await this.#input.write(new TextEncoder().encode(lines));
  }

  /** Waits until a text is printed; returns everything that was printed up to now. */
  async untilPrinted(text: string): Promise<string> {
    await this.#until(() => this.#output.includes(text) || this.#ended);
    assert.ok(this.#output.includes(text), `${this.#output}\n${this.#errors}`);
    return this.#output;
  }

  /** Ctrl-C, then the end of the shell. Resolves when both are gone. */
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

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Host } from "../../wireguard/hosts/host.ts";

/**
 * A program that answers each line of input with a line of JSON, and ends at the end of its input.
 */
export class JsonProgram implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  private constructor(command: readonly string[]) {
    const [program = "", ...args] = command;
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: Deno.env.get("PATH") ?? "" },
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
    // If the program has ended, writing fails. `tell` then throws its own error.
    this.#child.stdin!.on("error", () => {});
  }

  /** Starts the program on a host, or on this machine, and waits for its first line. */
  static async start(host: Host | null, command: readonly string[]): Promise<JsonProgram> {
    const inside = host === null ? [] : host.enter;
    const program = new JsonProgram([...inside, ...command]);
    await program.#answer();
    return program;
  }

  async tell<Answer = unknown>(command: unknown): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    return await this.#answer() as Answer;
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The program has ended.");
    const answer = JSON.parse(value);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
  }
}

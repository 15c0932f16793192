import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../local/project.ts";
import { type Ended, runProgram } from "../../local/processes/run_program.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";

const MAIN = join(PROJECT, "packages/cli/main.ts");

/** A temporary folder in which an agent's commands run. */
export class Desk implements AsyncDisposable {
  constructor(readonly folder: string, readonly agent: Agent) {}

  static async of(name: string): Promise<Desk> {
    return new Desk(await Deno.makeTempDir(), await createAgent(name));
  }

  run(
    args: readonly string[],
    environment: Record<string, string> = {},
    input = "",
  ): Promise<Ended> {
    return runProgram(Deno.execPath(), { ...this.command(args, environment), input });
  }

  /** Starts a command whose standard input stays open. */
  start(args: readonly string[], environment: Record<string, string>): Deno.ChildProcess {
    const command = this.command(args, environment);
    return new Deno.Command(Deno.execPath(), { ...command, stdin: "piped" }).spawn();
  }

  /** The arguments, folder and environment of a command. */
  command(args: readonly string[], environment: Record<string, string>) {
    return {
      args: [
        "run",
        "--allow-all",
        `--config=${join(PROJECT, "packages/cli/deno.json")}`,
        MAIN,
        ...args,
      ],
      cwd: this.folder,
      env: {
        AGENT_URL: SUPABASE_URL,
        AGENT_KEY: this.agent.key,
        AGENT_ID: this.agent.id,
        XDG_CONFIG_HOME: join(this.folder, "settings"),
        ...environment,
      },
    };
  }

  async json<Value>(...args: string[]): Promise<Value[]> {
    const { code, output, errors } = await this.run([...args, "--json"]);
    assert.equal(code, 0, errors);
    return output.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

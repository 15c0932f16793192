/** The released `agentops`, as it runs on a machine with nothing but Node. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleOperatorProgram } from "../../../../../dev/release/agentops_bundle.ts";
import { copyOperatorSources } from "../../../../../dev/release/agentops_sources.ts";
import { runProgram } from "../../../../local/processes/run_program.ts";
import { openFolder } from "../../../../../tests/long/narrow_path.ts";

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** A folder with the program as one file, and a home. Nothing of a clone is beside it. */
export class Released implements AsyncDisposable {
  readonly #folder: Awaited<ReturnType<typeof openFolder>>;

  private constructor(folder: Awaited<ReturnType<typeof openFolder>>) {
    this.#folder = folder;
  }

  static async build(): Promise<Released> {
    const folder = await openFolder(["node"]);
    await using sources = await copyOperatorSources();
    await bundleOperatorProgram(sources.path, join(folder.path, "agentops.mjs"));
    await mkdir(join(folder.path, "home"));
    return new Released(folder);
  }

  path(name: string): string {
    return join(this.#folder.path, name);
  }

  /** The file in which `agentops login` stores projects. */
  get projectFile(): string {
    return this.path("home/.config/agentops/projects.json");
  }

  get environment(): Record<string, string> {
    return {
      PATH: this.#folder.programs,
      HOME: this.path("home"),
      XDG_CONFIG_HOME: "",
      SUPABASE_URL: "",
      SUPABASE_SECRET_KEY: "",
      STATE_DIR: "",
      INIT_CWD: "",
    };
  }

  async run(args: readonly string[], { environment = {}, input }: RunOptions = {}) {
    const { code, output, errors } = await runProgram("node", {
      args: ["agentops.mjs", ...args],
      cwd: this.#folder.path,
      env: { ...this.environment, INIT_CWD: this.#folder.path, ...environment },
      ...(input === undefined ? {} : { input }),
    });
    return { code, output, errors: errors.trim() };
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.path(name), text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]();
  }
}

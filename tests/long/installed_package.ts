import assert from "node:assert/strict";
import { cp, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

/** Packs the package and installs it into an empty project. Returns the path of its command. */
export async function installPackage(folder: string): Promise<string> {
  await using clone = await Clone.make({ isBuilt: true });
  await run("npm", ["pack", "--pack-destination", folder], clone.package);
  return await installInto(folder, ["./agent-files-0.0.0.tgz"]);
}

/** Installs `what` with npm into an empty project. Returns the path of the package's command. */
export async function installInto(folder: string, what: readonly string[]): Promise<string> {
  await writeFile(join(folder, "package.json"), '{"private": true, "type": "module"}');
  await run("npm", ["install", "--no-audit", "--no-fund", ...what], folder);
  return join(folder, "node_modules/.bin/agentfiles");
}

/** Where `deno task mesh:build` puts the TCP/IP stack, which git ignores. */
const BUILT = "packages/agent-peer/ip/built";

/** A copy of the work tree as a clean clone would be: all files that git does not ignore. */
export class Clone implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** With `isBuilt`, the TCP/IP stack is there, too. Otherwise, each clone compiles it again. */
  static async make({ isBuilt = false } = {}): Promise<Clone> {
    const path = await Deno.makeTempDir();
    if (isBuilt) await cp(join(PROJECT, BUILT), join(path, BUILT), { recursive: true });
    const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    for (const file of (await run("git", list, PROJECT)).split("\0").filter(Boolean)) {
      // Git still lists a deleted file until the deletion is committed.
      if (await stat(join(PROJECT, file)).catch(() => null) === null) continue;
      await cp(join(PROJECT, file), join(path, file), { recursive: true });
    }
    return new Clone(path);
  }

  /** The folder of the TypeScript client. */
  get package(): string {
    return join(this.path, "packages/agent-files");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Resolves to the program's output. */
async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args, cwd });
  assert.equal(code, 0, errors);
  return output;
}

import assert from "node:assert/strict";
import { cp, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

/** What `npm pack` makes of the package. */
const PACKED = "agent-files-0.0.0.tgz";

/**
 * A folder of all test processes of one run, for what is built once (dev/checks/side_by_side.ts).
 * Undefined: a file that runs alone builds for itself.
 */
const SHARED_BUILDS = Deno.env.get("SHARED_BUILDS");

/**
 * Installs the packed package into an empty project. Returns the path of its command. Only
 * package_test.ts tests the packing: other tests of the same run share one packed file.
 */
export async function installPackage(folder: string): Promise<string> {
  if (SHARED_BUILDS === undefined) return await packAndInstall(folder);
  const shared = join(SHARED_BUILDS, PACKED);
  if (await stat(shared).catch(() => null) === null) await packTo(shared);
  await cp(shared, join(folder, PACKED));
  return await installInto(folder, [`./${PACKED}`]);
}

/** Packs the package and installs it into an empty project. Returns the path of its command. */
export async function packAndInstall(folder: string): Promise<string> {
  await pack(folder);
  return await installInto(folder, [`./${PACKED}`]);
}

async function pack(folder: string): Promise<void> {
  await using clone = await Clone.make({ isBuilt: true });
  await run("npm", ["pack", "--pack-destination", folder], clone.package);
}

/** Nobody sees an unfinished file. If two processes do this at once, the last one stays. */
async function packTo(file: string): Promise<void> {
  const folder = await mkdtemp(`${file}-`);
  try {
    await pack(folder);
    await rename(join(folder, PACKED), file);
  } finally {
    await rm(folder, { recursive: true });
  }
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

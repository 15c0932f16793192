import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CLIENT, readManifest } from "../clients/client_sources.ts";
import { succeed } from "./succeed.ts";

export interface NpmPackageOptions {
  /** The folder for the package. */
  readonly target: string;
  /** An empty folder for the package's content. */
  readonly staging: string;
  /** The clone URL, if it is known. */
  readonly repository: string | null;
  /** The path of the project's licence, if it has one. */
  readonly licence: string | null;
}

/** The operator's program, `agentops`, which is one file. */
export const OPERATOR_PROGRAM = "agentops.mjs";

/**
 * Packs the client, which must already be built, as `<name>-<version>.tgz`. The package is private
 * in the source tree, so that nobody publishes it from there by mistake. Throws CommandError.
 */
export async function packNpmPackage(options: NpmPackageOptions): Promise<void> {
  const { private: _private, scripts: _scripts, ...manifest } = await readManifest();
  await pack({ ...manifest, ...publishedFields(options, "packages/agent-files") }, options, [
    [join(CLIENT, "dist"), "dist"],
    [join(CLIENT, "README.md"), "README.md"],
  ]);
}

/** Packs the operator's program, with which `npx` runs it: `agentops-<version>.tgz`. */
export async function packOperatorProgram(
  program: string,
  options: NpmPackageOptions,
): Promise<void> {
  const { version, engines } = await readManifest();
  const manifest = {
    name: "agentops",
    version,
    description: "The operator's program for agent artifacts and the agent mesh.",
    type: "module",
    engines,
    bin: { agentops: `./${OPERATOR_PROGRAM}` },
  };
  await pack({ ...manifest, ...publishedFields(options, "packages/operator") }, options, [
    [program, OPERATOR_PROGRAM],
  ]);
}

function publishedFields({ repository, licence }: NpmPackageOptions, directory: string) {
  return {
    ...(repository === null
      ? {}
      : { repository: { type: "git", url: `git+${repository}`, directory } }),
    license: licence === null ? "UNLICENSED" : "SEE LICENSE IN LICENSE",
  };
}

/** Packs these files and folders, each under its name in the package. */
async function pack(
  manifest: object,
  { target, staging, licence }: NpmPackageOptions,
  files: readonly (readonly [path: string, name: string])[],
): Promise<void> {
  await mkdir(staging, { recursive: true });
  await writeFile(join(staging, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const [path, name] of files) await cp(path, join(staging, name), { recursive: true });
  if (licence !== null) await cp(licence, join(staging, "LICENSE"));
  await succeed("npm", ["pack", "--silent", "--pack-destination", target], { cwd: staging });
}

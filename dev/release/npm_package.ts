import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
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

/**
 * Packs the client, which must already be built, as `<name>-<version>.tgz`. The package is private
 * in the source tree, so that nobody publishes it from there by mistake. Throws CommandError.
 */
export async function packNpmPackage(options: NpmPackageOptions): Promise<void> {
  const { target, staging, repository, licence } = options;
  const { private: _private, scripts: _scripts, devDependencies: _bundled, ...manifest } =
    await readManifest();
  const published = {
    ...manifest,
    ...(repository === null ? {} : {
      repository: { type: "git", url: `git+${repository}`, directory: "clients/typescript" },
    }),
    license: licence === null ? "UNLICENSED" : "SEE LICENSE IN LICENSE",
  };
  await mkdir(staging, { recursive: true });
  await writeFile(join(staging, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  await cp(join(CLIENT, "dist"), join(staging, "dist"), { recursive: true });
  await writeFile(join(staging, "README.md"), await readFile(join(CLIENT, "README.md")));
  if (licence !== null) await cp(licence, join(staging, "LICENSE"));
  await succeed("npm", ["pack", "--silent", "--pack-destination", target], { cwd: staging });
}

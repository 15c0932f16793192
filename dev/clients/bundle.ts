import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { CommandError } from "../../local/command/command_error.ts";

/** Node 20 is the oldest platform that the package names. */
const COMMON = {
  bundle: true,
  format: "esm",
  target: "node20",
  // What is not installed is one of Node's own, for platforms that have it.
  external: ["node:*"],
  legalComments: "none",
  metafile: true,
  logLevel: "silent",
} as const satisfies esbuild.BuildOptions;

/** One of the packages that a bundle contains. */
interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/**
 * Writes the package's modules to `target`: `index.js` and `cli/main.js`, and what both share or
 * load later in `chunks/`. They import nothing but Node's own modules. Resolves to the licences of
 * what they contain, as text. Throws CommandError.
 */
export function bundlePackage(sources: string, target: string): Promise<string> {
  return bundle(sources, {
    entryPoints: { index: "src/index.ts", "cli/main": "src/cli/main.ts" },
    outdir: target,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    // The library runs in browsers and workers, too.
    platform: "neutral",
    mainFields: ["module", "main"],
  });
}

/** Writes the command line as one file, which needs Node alone. Otherwise as `bundlePackage`. */
export function bundleCommandLine(sources: string, file: string): Promise<string> {
  return bundle(sources, {
    entryPoints: ["src/cli/main.ts"],
    outfile: file,
    minify: true,
    platform: "node",
    // Some packages are CommonJS, and load Node's modules by `require`.
    banner: {
      js: 'import{createRequire as __createRequire}from"node:module";' +
        "const require=__createRequire(import.meta.url);",
    },
  });
}

async function bundle(sources: string, options: esbuild.BuildOptions): Promise<string> {
  try {
    const { metafile } = await esbuild.build({ ...COMMON, ...options, absWorkingDir: sources });
    return await licencesOf(sources, Object.keys(metafile?.inputs ?? {}));
  } catch (error) {
    throw new CommandError(`The client cannot be bundled: ${(error as Error).message}`);
  } finally {
    await esbuild.stop();
  }
}

async function licencesOf(sources: string, files: readonly string[]): Promise<string> {
  const folders = files.flatMap((file) =>
    /^(node_modules\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []
  );
  const packages = await Promise.all(
    Array.from(new Set(folders), (folder) => readLicence(join(sources, folder))),
  );
  return packages.toSorted((one, other) => one.name < other.name ? -1 : 1)
    .map(({ name, version, licence }) => `${name} ${version}\n\n${licence.trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

async function readLicence(folder: string): Promise<Bundled> {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const file = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
  const licence = file === undefined
    ? `${license} licence`
    : await readFile(join(folder, file), "utf8");
  return { name, version, licence };
}

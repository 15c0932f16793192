import { access, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import * as esbuild from "esbuild";
import { CommandError } from "../../packages/command/command_error.ts";
import { LWIP } from "../mesh/lwip_source.ts";

/** Node 20 is the oldest platform that the package supports. */
const COMMON = {
  bundle: true,
  format: "esm",
  target: "node20",
  // Node's own modules are not bundled. They are for platforms that have them.
  external: ["node:*"],
  loader: { ".wasm": "binary" },
  legalComments: "none",
  metafile: true,
  logLevel: "silent",
} as const satisfies esbuild.BuildOptions;

/** One of the packages that a bundle contains. */
export interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/**
 * The MCP SDK validates form input (elicitation) with a library that makes up a third of the SDK's
 * size. The server of the command line never asks for form input.
 */
const WITHOUT_FORMS: esbuild.Plugin = {
  name: "without-forms",
  setup(build) {
    const namespace = "without-forms";
    build.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path }) => ({
      path,
      namespace,
    }));
    build.onLoad({ filter: /.*/, namespace }, () => ({
      contents: `export { default as process } from "node:process";
export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error("This server has no forms to validate.");
  }
}`,
    }));
  },
};

/**
 * The libraries for proxies print what they do with this one if a variable, DEBUG, names them. The
 * command line has no such promise, and its own errors say what a proxy answered.
 */
const WITHOUT_DEBUG: esbuild.Plugin = {
  name: "without-debug",
  setup(build) {
    const namespace = "without-debug";
    build.onResolve({ filter: /^debug$/ }, ({ path }) => ({ path, namespace }));
    build.onLoad({ filter: /.*/, namespace }, () => ({
      contents: "export default () => Object.assign(() => {}, { enabled: false });",
    }));
  },
};

/** Where `deno task mesh:build` puts the TCP/IP stack, relative to the folder of the sources. */
const BUILT = "packages/agent-peer/ip/built";

/**
 * Puts the TCP/IP stack into the bundle, so that no bundler has to find a file. Compressed, because
 * gzip compresses a stack in base64 badly. If the stack has not been built, the bundle says how to
 * build it when somebody joins the mesh.
 */
const WITH_LWIP: esbuild.Plugin = {
  name: "with-lwip",
  setup(build) {
    build.onLoad({ filter: /\/agent-peer\/ip\/read_lwip\.ts$/ }, async ({ path }) => {
      const file = join(dirname(path), "built/lwip.wasm");
      const isBuilt = await access(file).then(() => true, () => false);
      if (!isBuilt) return null;
      return {
        contents: `import { brotliDecompressSync } from "node:zlib";
import bytes from "./built/lwip.wasm";
export function readLwip() {
  return WebAssembly.compile(brotliDecompressSync(bytes));
}`,
      };
    });
    build.onLoad({ filter: /\/built\/lwip\.wasm$/ }, async ({ path }) => ({
      contents: brotliCompressSync(await readFile(path)),
      loader: "binary",
    }));
  },
};

/** Some packages are CommonJS and load Node's modules with `require`. */
export const FOR_NODE = {
  platform: "node",
  plugins: [WITHOUT_FORMS, WITHOUT_DEBUG, WITH_LWIP],
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";' +
      "const require=__createRequire(import.meta.url);",
  },
} as const satisfies esbuild.BuildOptions;

/**
 * Writes the package's modules to `target`: the library as `agent-files/index.js`, with
 * `agent-files/testing/index.js`; the sandbox peer as `agent-peer/mesh/index.js`, with the program
 * of its thread; `agent-files/proxy/index.js`; and the command line as `cli/main.js`. What each of
 * them loads later goes into a folder `chunks/` beside it. They import only Node's own modules.
 * Resolves to the licences of what they contain, as text. Throws CommandError.
 */
export async function bundlePackage(sources: string, target: string): Promise<string> {
  const split = { splitting: true, chunkNames: "chunks/[name]-[hash]" };
  // The library also runs in browsers and workers, so it shares no chunks with the command line.
  const library = await bundle(sources, {
    ...split,
    // Together, so that both have the same AgentError.
    entryPoints: ["packages/agent-files/index.ts", "packages/agent-files/testing/index.ts"],
    outdir: join(target, "agent-files"),
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  const sandboxPeer = await bundle(sources, {
    ...split,
    ...FOR_NODE,
    entryPoints: ["packages/agent-peer/mesh/index.ts", "packages/agent-peer/mesh/worker.ts"],
    outdir: join(target, "agent-peer/mesh"),
  });
  const proxy = await bundle(sources, {
    ...split,
    ...FOR_NODE,
    entryPoints: ["packages/agent-files/proxy/index.ts"],
    outdir: join(target, "agent-files/proxy"),
  });
  const commandLine = await bundle(sources, {
    ...split,
    ...FOR_NODE,
    entryPoints: ["packages/cli/main.ts"],
    outdir: join(target, "cli"),
  });
  return licencesText([...library, ...sandboxPeer, ...proxy, ...commandLine]);
}

/** Writes the command line as one file, which needs only Node. Otherwise like `bundlePackage`. */
export async function bundleCommandLine(sources: string, file: string): Promise<string> {
  const packages = await bundle(sources, {
    ...FOR_NODE,
    entryPoints: ["packages/cli/main.ts"],
    outfile: file,
    minify: true,
  });
  return licencesText(packages);
}

/** Resolves to the packages that the bundle contains. Throws CommandError. */
export async function bundle(sources: string, options: esbuild.BuildOptions): Promise<Bundled[]> {
  try {
    const { metafile } = await esbuild.build({ ...COMMON, ...options, absWorkingDir: sources });
    const inputs = Object.keys(metafile?.inputs ?? {});
    return [...await packagesIn(sources, inputs), ...await lwipIn(sources, inputs)];
  } catch (error) {
    throw new CommandError(`${options.entryPoints} cannot be bundled: ${(error as Error).message}`);
  } finally {
    await esbuild.stop();
  }
}

/** lwIP, if the bundle contains it. lwIP is not an npm package. */
async function lwipIn(sources: string, inputs: readonly string[]): Promise<Bundled[]> {
  if (!inputs.some((file) => file.endsWith("lwip.wasm"))) return [];
  const licence = await readFile(join(sources, BUILT, "lwip.LICENSE.txt"), "utf8");
  return [{ ...LWIP, licence }];
}

async function packagesIn(sources: string, files: readonly string[]): Promise<Bundled[]> {
  const folders = files.flatMap((file) =>
    /^(node_modules\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []
  );
  return await Promise.all(
    Array.from(new Set(folders), (folder) => readLicence(join(sources, folder))),
  );
}

export function licencesText(packages: readonly Bundled[]): string {
  const byName = new Map(packages.map((bundled) => [bundled.name, bundled]));
  return Array.from(byName.values()).toSorted((one, other) => one.name < other.name ? -1 : 1)
    .map(({ name, version, licence }) => `${name} ${version}\n\n${licence.trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

export async function readLicence(folder: string): Promise<Bundled> {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const file = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
  const licence = file === undefined
    ? `${license} licence`
    : await readFile(join(folder, file), "utf8");
  return { name, version, licence };
}

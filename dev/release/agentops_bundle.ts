import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type * as esbuild from "esbuild";
import { readOwnMigrations } from "../../packages/operator/connection/own_migrations.ts";
import { readCheckout } from "../../packages/operator/doctor/facts/checkout.ts";
import { bundle, FOR_NODE, licencesText, readLicence } from "../clients/bundle.ts";

/** Packages that the functions load for requests which `agentops` never sends to itself. */
const LEFT_OUT =
  /^(?:@supabase\/supabase-js|@modelcontextprotocol\/|(?:hash-wasm|http-parser-js|jose|standardwebhooks)$)/;

/** Modules that read a clone, or need Deno. The released program has what they read. */
function withClone(sources: string): esbuild.Plugin {
  const contents: Readonly<Record<string, () => Promise<string>>> = {
    "packages/operator/connection/own_migrations.ts": async () =>
      constant("readOwnMigrations", await readOwnMigrations()),
    "packages/operator/doctor/facts/checkout.ts": async () =>
      constant("readCheckout", await readCheckout()),
    "packages/operator/dashboard/read_asset.ts": async () => {
      const assets = await readAssets(sources);
      return `const ASSETS = ${JSON.stringify(assets)};
export async function readAsset(name) {
  return ASSETS[name];
}`;
    },
    // The doctor asks the functions' code for its OpenAPI documents. It serves nothing else.
    "supabase/functions/_shared/request/process_end.ts": () =>
      Promise.resolve("export function onProcessEnd() {}"),
    // STATE_DIR is below the folder in which the program runs.
    "packages/local/project.ts": () =>
      Promise.resolve('import process from "node:process";\nexport const PROJECT = process.cwd();'),
  };
  return {
    name: "with-clone",
    setup(build) {
      for (const [file, read] of Object.entries(contents)) {
        const filter = new RegExp(`/${file.replaceAll(".", "\\.")}$`);
        build.onLoad({ filter }, async () => ({ contents: await read() }));
      }
    },
  };
}

function constant(name: string, value: unknown): string {
  return `const VALUE = ${JSON.stringify(value)};
export async function ${name}() {
  return VALUE;
}`;
}

async function readAssets(sources: string): Promise<Record<string, string>> {
  const folder = join(sources, "packages/operator/dashboard/assets");
  const files = await readdir(folder);
  const assets = files.map(async (file) => [file, await readFile(join(folder, file), "utf8")]);
  const cytoscape = join(sources, "node_modules/cytoscape/dist/cytoscape.esm.min.mjs");
  return {
    ...Object.fromEntries(await Promise.all(assets)),
    "cytoscape.js": await readFile(cytoscape, "utf8"),
  };
}

const WITHOUT_PACKAGES: esbuild.Plugin = {
  name: "without-packages",
  setup(build) {
    const namespace = "without-packages";
    build.onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace }));
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      // Whatever the package exports can be named and constructed, but not called.
      contents: `const stub = new Proxy(function () {}, {
  get: (_, name) => typeof name === "symbol" || name === "then" ? undefined : stub,
  construct: () => stub,
  apply() {
    throw new Error(${JSON.stringify(`agentops does not contain ${path}.`)});
  },
});
module.exports = Object.create(stub);`,
    }));
  },
};

/**
 * Writes `agentops` as one file, which needs only Node. Resolves to the licences of the packages
 * that it contains, as text. Throws CommandError.
 */
export async function bundleOperatorProgram(sources: string, file: string): Promise<string> {
  const packages = await bundle(sources, {
    ...FOR_NODE,
    plugins: [withClone(sources), WITHOUT_PACKAGES],
    // The other form of jsonc-parser loads its own files by paths that no bundler finds.
    mainFields: ["module", "main"],
    entryPoints: ["packages/operator/agentops/main.ts"],
    outfile: file,
    minify: true,
  });
  // The dashboard serves cytoscape as a file, so it is not among the modules of the bundle.
  const served = await readLicence(join(sources, "node_modules/cytoscape"));
  return licencesText([...packages, served]);
}

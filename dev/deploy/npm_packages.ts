import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "./hosted_deno.ts";
import type { Runnable } from "./hosted_function.ts";

/** What a function loads. */
export interface Dependencies {
  /** How many of them are the function's own modules. */
  readonly modules: number;
  /** What every cold start loads. The rest is loaded when used. */
  readonly atStart: StartDependencies;
  /** The npm packages by size, largest first. */
  readonly packages: readonly { readonly name: string; readonly bytes: number }[];
}

interface StartDependencies {
  /** How many of them are the function's own modules. */
  readonly modules: number;
  /** The size of those modules. */
  readonly bytes: number;
  /** The names, without versions, of the packages and their dependencies; sorted. */
  readonly packages: readonly string[];
}

interface Module {
  readonly specifier: string;
  readonly local?: string;
  /** In bytes. */
  readonly size?: number;
  /** For a package's module: the package's key in `npmPackages`. */
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier: string };
  }[];
}

interface Graph {
  readonly roots: readonly string[];
  readonly modules: readonly Module[];
  /** Maps a specifier as written to a module's specifier. */
  readonly redirects: Readonly<Record<string, string>>;
  readonly npmPackages: Readonly<Record<string, NpmPackage>>;
}

interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** Keys in `npmPackages`. */
  readonly dependencies: readonly string[];
}

/** The modules and npm packages of a function. The platform bundles packages whole. */
export async function readDependencies(packed: Runnable): Promise<Dependencies> {
  const graph = await info<Graph>(packed, [packed.entryPoint]);
  const { npmCache } = await info<{ readonly npmCache: string }>(packed, []);
  const packages = await Promise.all(
    Object.values(graph.npmPackages).map(async ({ name, version }) => ({
      name: `${name}@${version}`,
      bytes: await sizeInCache(npmCache, join(name, version)),
    })),
  );
  const isOwn = ({ local }: Module) => local?.startsWith(packed.directory) ?? false;
  const atStart = modulesAtStart(graph);
  const ownAtStart = atStart.filter(isOwn);
  return {
    modules: graph.modules.filter(isOwn).length,
    atStart: {
      modules: ownAtStart.length,
      bytes: ownAtStart.reduce((sum, { size = 0 }) => sum + size, 0),
      packages: packagesOf(atStart, graph.npmPackages),
    },
    packages: packages.sort((a, b) => b.bytes - a.bytes),
  };
}

/** The roots and everything that they import statically, directly or not. */
function modulesAtStart({ roots, modules, redirects }: Graph): Module[] {
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set<Module>();
  const pending = [...roots];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const module = known.get(redirects[next] ?? next);
    if (module === undefined) throw new Error(`${next} is not in the graph.`);
    if (loaded.has(module)) continue;
    loaded.add(module);
    const imports = (module.dependencies ?? []).filter(({ isDynamic }) => !isDynamic);
    pending.push(...imports.flatMap(({ code }) => code?.specifier ?? []));
  }
  return [...loaded];
}

/** The packages of these modules with all their dependencies, which may load at once. */
function packagesOf(modules: readonly Module[], npmPackages: Graph["npmPackages"]): string[] {
  const names = new Set<string>();
  const pending = modules.flatMap(({ npmPackage }) => npmPackage ?? []);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { name, dependencies } = npmPackages[next]!;
    if (names.has(name)) continue;
    names.add(name);
    pending.push(...dependencies);
  }
  return [...names].sort();
}

async function info<Answer>(packed: Runnable, args: readonly string[]): Promise<Answer> {
  const { code, stdout, stderr } = await new Deno.Command(await locateHostedDeno(), {
    args: ["info", "--json", `--config=${packed.configFile}`, "--no-lock", ...args],
    cwd: packed.directory,
    env: { ...HOSTED_DENO_ENVIRONMENT },
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/**
 * The size of a package's files. The cache has a folder for each registry, with the packages in it.
 */
async function sizeInCache(cache: string, packageFolder: string): Promise<number> {
  for (const registry of await readdir(cache)) {
    const folder = join(cache, registry, packageFolder);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile());
    if (files.length === 0) continue;
    const sizes = await Promise.all(
      files.map(async (file) => (await stat(join(file.parentPath, file.name))).size),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }
  throw new Error(`${packageFolder} is not in the cache.`);
}

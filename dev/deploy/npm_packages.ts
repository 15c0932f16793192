import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "./hosted_deno.ts";
import type { Runnable } from "./hosted_function.ts";

/** What a function loads beside its own files. */
export interface Dependencies {
  /** Modules of its own. */
  readonly modules: number;
  /** Of its own modules, in bytes, what every cold start loads: the rest is loaded when used. */
  readonly startBytes: number;
  /** By size, largest first. */
  readonly packages: readonly { readonly name: string; readonly bytes: number }[];
}

interface Module {
  readonly specifier: string;
  readonly local?: string;
  /** In bytes. */
  readonly size?: number;
  readonly dependencies?: readonly {
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier: string };
  }[];
}

interface Graph {
  readonly roots: readonly string[];
  readonly modules: readonly Module[];
  readonly npmPackages: Readonly<
    Record<string, { readonly name: string; readonly version: string }>
  >;
}

/** The modules and npm packages of a function. The platform bundles whole packages. */
export async function readDependencies(packed: Runnable): Promise<Dependencies> {
  const graph = await info<Graph>(packed, [packed.entryPoint]);
  const { npmCache } = await info<{ readonly npmCache: string }>(packed, []);
  const packages = await Promise.all(
    Object.values(graph.npmPackages).map(async ({ name, version }) => ({
      name: `${name}@${version}`,
      bytes: await sizeInCache(npmCache, join(name, version)),
    })),
  );
  const own = graph.modules.filter(({ local }) => local?.startsWith(packed.directory));
  return {
    modules: own.length,
    startBytes: bytesAtStart(own, graph.roots),
    packages: packages.sort((a, b) => b.bytes - a.bytes),
  };
}

/** Of what the roots import, and what that imports, and so on, but for what is imported late. */
function bytesAtStart(modules: readonly Module[], roots: readonly string[]): number {
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set<Module>();
  const pending = [...roots];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const module = known.get(next);
    if (module === undefined || loaded.has(module)) continue;
    loaded.add(module);
    const imports = (module.dependencies ?? []).filter(({ isDynamic }) => !isDynamic);
    pending.push(...imports.flatMap(({ code }) => code?.specifier ?? []));
  }
  return [...loaded].reduce((sum, { size = 0 }) => sum + size, 0);
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

/** The cache has a folder for each registry, with the packages in it. */
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

/** The packages that this project pins, and the lock file with their digests. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { POSTGRES_PACKAGES } from "../../packages/local/postgres/binaries.ts";
import { PROJECT } from "../../packages/local/project.ts";

/** The import map of everything here, relative to the project. */
export const IMPORT_MAP = "dev/imports.json";

/** The lock file of everything here. */
export const LOCK_FILE = join(PROJECT, "dev/deno.lock");

/**
 * Options for a subcommand of Deno that takes its settings from the project's folder: `deno.json`
 * there names no lock file, because `deno task` would download every package of it.
 */
export const LOCKED = [`--lock=${LOCK_FILE}`, "--frozen"];

/** What is read here of a lock file. */
export interface LockFile {
  readonly version: string;
  /** The version of each package that is pinned, by `npm:name@version`. */
  readonly specifiers: Readonly<Record<string, string>>;
  /** By `name@version`; after `_` follow the peers that it has found. */
  readonly npm: Readonly<Record<string, LockedPackage>>;
}

export interface LockedPackage {
  readonly integrity?: string;
  readonly dependencies?: readonly string[];
}

/** The specifiers of the import map by name: `npm:hono@4.13.19/cors` by `hono/cors`. */
export async function readPins(): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await readFile(join(PROJECT, IMPORT_MAP), "utf8")).imports;
}

/** The pinned versions of these packages, by name. Throws if one is not pinned. */
export async function pinnedVersions(names: readonly string[]): Promise<Record<string, string>> {
  const pins = Object.values(await readPins());
  return Object.fromEntries(names.map((name) => {
    const pin = pins.find((pin) => pin.startsWith(`npm:${name}@`));
    if (pin === undefined) throw new Error(`${IMPORT_MAP} does not pin ${name}.`);
    return [name, pin.slice(`npm:${name}@`.length).split("/")[0]!];
  }));
}

/**
 * The packages that the lock file must contain, as it writes them: `npm:hono@4.13.19`. PostgreSQL
 * is there for every platform.
 */
export async function pinnedPackages(): Promise<string[]> {
  const pins = Object.values(await readPins()).map((pin) =>
    /^npm:(?:@[^/]+\/)?[^/]+/.exec(pin)![0]
  );
  return [...new Set([...pins, ...POSTGRES_PACKAGES])].sort();
}

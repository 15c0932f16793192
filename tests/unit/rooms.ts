/** The rooms (folders) of the source tree, and what each of them imports. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

/** The top folders, lowest first: each imports only from itself and from those before it. */
export const HOUSES = [
  "supabase/functions",
  "packages/command",
  "packages/agent-files",
  "packages/agent-peer",
  "packages/cli",
  "packages/local",
  "packages/operator",
  "dev",
] as const;

/** The files that each file imports, types included, as paths below the project. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** The files below a folder, as paths below the project. */
export async function filesBelow(folder: string): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const;
  const entries = await readdir(join(PROJECT, folder), options);
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) =>
    relative(PROJECT, join(parentPath, name))
  );
}

/** The files of all houses, without the tests of packages. */
export async function filesOfHouses(): Promise<string[]> {
  return (await Promise.all(HOUSES.map(filesBelow))).flat().filter(isOwn);
}

/** Every source file: nothing that a build, a package manager or a tool has created. */
export async function filesOfTree(): Promise<string[]> {
  const entries = await readdir(PROJECT, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && isWritten(entry.name));
  const below = await Promise.all(folders.map(({ name }) => filesBelow(name)));
  return below.flat().filter((file) => file.split("/").every(isWritten));
}

/** The number of parts of a file's path. In a package or the functions, from their folder on. */
export function depthOf(file: string): number {
  const [, below = file] = /^(?:packages\/[^/]+|supabase\/functions)\/(.*)$/.exec(file) ?? [];
  return below.split("/").length;
}

/** Whether a file is part of what a house is for, and not a test, its data, or built. */
function isOwn(file: string): boolean {
  return !/^packages\/[^/]+\/(?:dist|node_modules|tests)\//.test(file);
}

function isWritten(name: string): boolean {
  return !name.startsWith(".") && name !== "dist" && name !== "node_modules";
}

export async function readImports(): Promise<Imports> {
  const imports = new Map<string, readonly string[]>();
  for (const file of await filesOfHouses()) {
    if (!file.endsWith(".ts")) continue;
    const source = await readFile(join(PROJECT, file), "utf8");
    imports.set(file, relativeImports(source).map((path) => join(dirname(file), path)));
  }
  return imports;
}

/** The relative paths that a module imports, statically or dynamically. */
export function relativeImports(source: string): string[] {
  const paths = source.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.\.?\/[^"]+)"/g);
  return Array.from(paths, ([, path]) => path!);
}

/**
 * The rooms that each room imports. A room is a folder without its doors. A door is a file that
 * imports from a folder below its own (`app.ts` from `routes/`), or from another door in its own
 * folder. Each door is a separate room above the others.
 */
export function roomsOf(imports: Imports): Map<string, Set<string>> {
  const doors = doorsIn(imports);
  const roomOf = (file: string) => doors.has(file) ? file : dirname(file);
  const rooms = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    for (const to of targets.map(roomOf)) {
      const from = roomOf(file);
      if (to !== from) rooms.set(from, (rooms.get(from) ?? new Set()).add(to));
    }
  }
  return rooms;
}

function doorsIn(imports: Imports): ReadonlySet<string> {
  const doors = new Set<string>();
  for (let known = -1; known < doors.size;) {
    known = doors.size;
    for (const [file, targets] of imports) {
      const folder = dirname(file);
      const isDoor = (target: string) =>
        dirname(target) === folder ? doors.has(target) : target.startsWith(`${folder}/`);
      if (targets.some(isDoor)) doors.add(file);
    }
  }
  return doors;
}

/** An import cycle, as the rooms from one back to itself, or null. */
export function findCycle(rooms: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const finished = new Set<string>();

  function walk(room: string, way: readonly string[]): string[] | null {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room];
    if (finished.has(room)) return null;
    for (const next of rooms.get(room) ?? []) {
      const cycle = walk(next, [...way, room]);
      if (cycle !== null) return cycle;
    }
    finished.add(room);
    return null;
  }

  for (const room of rooms.keys()) {
    const cycle = walk(room, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

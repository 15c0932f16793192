/** What makes the tree of dev/ its architecture. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const DEV = join(PROJECT, "dev");
const MOST_FILES = 12;

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) =>
    join(parentPath, name)
  );
}

/** Which folders of `dev` each of them imports from. */
async function readFolderImports(): Promise<Map<string, Set<string>>> {
  const imports = new Map<string, Set<string>>();
  for (const file of await filesBelow(DEV)) {
    if (!file.endsWith(".ts")) continue;
    const from = relative(DEV, dirname(file));
    for (const imported of relativeImports(await readFile(file, "utf8"))) {
      const to = relative(DEV, dirname(join(dirname(file), imported)));
      if (to === from || to.startsWith("..")) continue;
      imports.set(from, (imports.get(from) ?? new Set()).add(to));
    }
  }
  return imports;
}

/** The relative paths that a module imports, statically or when it runs. */
function relativeImports(source: string): string[] {
  const paths = source.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.\.?\/[^"]+)"/g);
  return Array.from(paths, ([, path]) => path!);
}

/** A way from a folder back to itself, or null. */
function findCycle(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const finished = new Set<string>();

  function walk(folder: string, way: readonly string[]): string[] | null {
    if (way.includes(folder)) return [...way.slice(way.indexOf(folder)), folder];
    if (finished.has(folder)) return null;
    for (const next of imports.get(folder) ?? []) {
      const cycle = walk(next, [...way, folder]);
      if (cycle !== null) return cycle;
    }
    finished.add(folder);
    return null;
  }

  for (const folder of imports.keys()) {
    const cycle = walk(folder, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

Deno.test(`every folder of dev/ → at most ${MOST_FILES} files`, async () => {
  const counts = new Map<string, number>();
  for (const file of await filesBelow(DEV)) {
    const folder = relative(PROJECT, dirname(file));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  assert.ok(counts.size > 5);
  assert.deepEqual([...counts].filter(([, count]) => count > MOST_FILES), []);
});

Deno.test("the imports between the folders of dev/ → no way leads back to where it began", async () => {
  const imports = await readFolderImports();
  assert.ok(imports.get("stack")?.has("state"), "the imports are found");
  const cycle = findCycle(imports);
  assert.equal(cycle, null, `dev/ has a cycle of imports: ${cycle?.join(" → ")}`);
});

for (
  const [edges, cycle] of [
    [{ a: ["b", "c"], b: ["c"], c: [] }, null],
    [{ a: ["b"], b: ["c"], c: ["b"] }, ["b", "c", "b"]],
  ] as const
) {
  Deno.test(`findCycle() of ${JSON.stringify(edges)} → ${cycle}`, () => {
    const imports = new Map(Object.entries(edges).map(([from, to]) => [from, new Set<string>(to)]));
    assert.deepEqual(findCycle(imports), cycle);
  });
}

Deno.test("relativeImports() of every form of import → its path", () => {
  const source = `
import { a } from "./a.ts";
import type {
  B,
} from "../b/b.ts";
import "./c.ts";
export * from "../d.ts";
await import("../e.ts");
import { join } from "node:path";`;
  assert.deepEqual(relativeImports(source), [
    "./a.ts",
    "../b/b.ts",
    "./c.ts",
    "../d.ts",
    "../e.ts",
  ]);
});

Deno.test("every task of deno.json → names files that exist", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8")) as {
    tasks: Record<string, string>;
  };
  const named = Object.values(tasks).flatMap((task) =>
    task.split(/[\s,=]+/).filter((word) => /^(?:dev|tests)(?:\/|$)/.test(word))
  );
  assert.ok(named.length > 10);
  for (const path of named) {
    await assert.doesNotReject(stat(join(PROJECT, path)), `${path} does not exist`);
  }
});

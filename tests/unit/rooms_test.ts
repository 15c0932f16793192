/** Keeps the source tree to the architecture that docs/architecture.md shows. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  depthOf,
  filesOfHouses,
  filesOfTree,
  findCycle,
  HOUSES,
  PROJECT,
  readImports,
  relativeImports,
  roomsOf,
} from "./rooms.ts";

const MOST_FILES = 12;

/** One file for each operation, each found by its path on the wire. */
const ROUTES = /^supabase\/functions\/[^/]+\/routes\//;

const MOST_LINES = 300;

/** Written by `deno task client:types` and `deno task schema:squash`. */
const GENERATED = ["packages/agent-files/contract/", "supabase/migrations/"];

/** Counted from the package, from `supabase/functions/`, or from the project. */
const DEEPEST = 5;

Deno.test(`every folder of every house, but for operations → at most ${MOST_FILES} files`, async () => {
  const counts = new Map<string, number>();
  for (const file of await filesOfHouses()) {
    // What is said of a package as a whole.
    if (/^packages\/[^/]+\/(?:README\.md|deno\.json)$/.test(file)) continue;
    if (ROUTES.test(file)) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  assert.ok(counts.size > 50, String(counts.size));
  assert.deepEqual([...counts].filter(([, count]) => count > MOST_FILES), []);
});

Deno.test(`every file of the tree, of a package, of the functions → at most ${DEEPEST} deep`, async () => {
  const files = await filesOfTree();
  assert.ok(
    files.includes("supabase/functions/_shared/operations/mcp/tools.ts"),
    "the files are found",
  );
  assert.deepEqual(files.filter((file) => depthOf(file) > DEEPEST), []);
});

Deno.test(`every folder of the tree, of a package, of the functions → at most ${DEEPEST} deep`, async () => {
  const folders = new Set((await filesOfTree()).map(dirname));
  assert.ok(folders.has("packages/agent-peer/mesh/engine"), "the folders are found");
  const deeper = [...folders].filter((folder) => depthOf(folder) > DEEPEST);
  assert.deepEqual(deeper, []);
});

Deno.test(`every file of TypeScript, SQL, shell or jq that nothing generates → at most ${MOST_LINES} lines`, async () => {
  const files = (await filesOfTree()).filter((file) => /\.(ts|sql|sh|jq)$/.test(file));
  assert.ok(files.includes("examples/minimal-mesh-agent.sh"), "the files are found");
  const long: string[] = [];
  for (const file of files) {
    if (GENERATED.some((start) => file.startsWith(start))) continue;
    const lines = (await readFile(join(PROJECT, file), "utf8")).split("\n").length - 1;
    if (lines > MOST_LINES) long.push(`${file}: ${lines}`);
  }
  assert.deepEqual(long, []);
});

Deno.test("depthOf() of a file → its folders and itself; below a package, and below the functions", () => {
  assert.deepEqual(
    ["README.md", "tests/unit/rooms.ts", "packages/cli/a/b.ts", "supabase/functions/_shared/a.ts"]
      .map(depthOf),
    [1, 3, 2, 2],
  );
});

Deno.test("the imports between rooms, types included → no way leads back to where it began", async () => {
  const rooms = roomsOf(await readImports());
  assert.ok(
    rooms.get("packages/local/stack")?.has("packages/local/state"),
    "the imports are found",
  );
  assert.ok(rooms.has("supabase/functions/agent-mesh/app.ts"), "the doors are found");
  const cycle = findCycle(rooms);
  assert.equal(cycle, null, `a cycle of imports: ${cycle?.join(" → ")}`);
});

Deno.test("the imports between files, types included → no way leads back to where it began", async () => {
  const files = new Map(
    Array.from(await readImports(), ([file, targets]) => [file, new Set(targets)] as const),
  );
  const cycle = findCycle(files);
  assert.equal(cycle, null, `a cycle of imports: ${cycle?.join(" → ")}`);
});

Deno.test("the imports between houses → never from one to a later one", async () => {
  const houseOf = (path: string) => HOUSES.findIndex((house) => path.startsWith(`${house}/`));
  const upward: string[] = [];
  for (const [file, targets] of await readImports()) {
    for (const target of targets) {
      if (houseOf(target) > houseOf(file)) upward.push(`${file} → ${target}`);
      assert.ok(houseOf(target) >= 0, `${file} imports ${target}, which is in no house`);
    }
  }
  assert.deepEqual(upward, []);
});

/** The houses that import from a few others only, or from none. */
const IMPORTED: Readonly<Record<string, readonly string[]>> = {
  "supabase/functions": [],
  "packages/command": [],
  "packages/agent-files": [],
  "packages/agent-peer": ["packages/agent-files"],
  "packages/cli": ["packages/agent-files", "packages/agent-peer", "packages/command"],
  "packages/local": ["packages/command", "supabase/functions"],
};

Deno.test("the functions and each package → import only from the houses that they may", async () => {
  for (const [file, targets] of await readImports()) {
    const house = Object.keys(IMPORTED).find((house) => file.startsWith(`${house}/`));
    if (house === undefined) continue;
    const allowed = [house, ...IMPORTED[house]!];
    const others = targets.filter((target) =>
      !allowed.some((name) => target.startsWith(`${name}/`))
    );
    assert.deepEqual(others, [], file);
  }
});

Deno.test("a function → imports only from itself and from the shared code, which imports from neither", async () => {
  const FUNCTIONS = "supabase/functions/";
  const folderOf = (path: string) => path.slice(FUNCTIONS.length).split("/")[0]!;
  const wrong: string[] = [];
  const found = new Set<string>();
  for (const [file, targets] of await readImports()) {
    if (!file.startsWith(FUNCTIONS)) continue;
    found.add(folderOf(file));
    for (const target of targets) {
      if (![folderOf(file), "_shared"].includes(folderOf(target))) {
        wrong.push(`${file} → ${target}`);
      }
    }
  }
  assert.deepEqual([...found].sort(), ["_shared", "agent-artifacts", "agent-mesh"]);
  assert.deepEqual(wrong, []);
});

for (
  const [edges, cycle] of [
    [{ a: ["b", "c"], b: ["c"], c: [] }, null],
    [{ a: ["b"], b: ["c"], c: ["b"] }, ["b", "c", "b"]],
  ] as const
) {
  Deno.test(`findCycle() of ${JSON.stringify(edges)} → ${cycle}`, () => {
    const rooms = new Map(Object.entries(edges).map(([from, to]) => [from, new Set<string>(to)]));
    assert.deepEqual(findCycle(rooms), cycle);
  });
}

Deno.test("roomsOf() of a file over a folder, and one beside it → a door, and its folder", () => {
  const imports = new Map([
    ["x/app.ts", ["x/routes/one.ts", "x/errors.ts"]],
    ["x/index.ts", ["x/app.ts"]],
    ["x/routes/one.ts", ["x/errors.ts"]],
    ["x/errors.ts", []],
  ]);
  assert.deepEqual(
    roomsOf(imports),
    new Map([
      ["x/app.ts", new Set(["x/routes", "x"])],
      ["x/index.ts", new Set(["x/app.ts"])],
      ["x/routes", new Set(["x"])],
    ]),
  );
  const upward = new Map([...imports, ["x/routes/one.ts", ["x/app.ts"]]]);
  assert.deepEqual(findCycle(roomsOf(upward)), ["x/app.ts", "x/routes", "x/app.ts"]);
});

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
    tasks: Record<string, { description: string; command: string }>;
  };
  const named = Object.values(tasks).flatMap(({ command }) =>
    command.split(/[\s,=]+/).filter((word) =>
      /^(?:dev|local|operator|packages|tests)(?:\/|$)/.test(word)
    )
  );
  assert.ok(named.length > 25);
  for (const path of named) {
    await assert.doesNotReject(stat(join(PROJECT, path)), `${path} does not exist`);
  }
});

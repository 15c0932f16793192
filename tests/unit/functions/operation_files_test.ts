/** Does each place of an operation have the others? A complaint begins with the file to write. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readOperations } from "../../../dev/documents/operations.ts";
import {
  namesOfOperations,
  readSchemaFiles,
} from "../../../packages/local/postgres/schema_files.ts";
import { fileOfCard, FUNCTIONS, pathsOf } from "../../operations/paths.ts";
import { filesBelow, PROJECT } from "../rooms.ts";

const FUNCTIONS_FOLDER = "supabase/functions";
/** A line of `OPERATIONS`. */
const LINE = /^ {2}"(\/[^"]+)": \(\) => import\("([^"]+)"\),$/gm;
const CALL = /\b(?:callDatabase|relayDatabase|callAsOperator)(?:<[^(]*>)?\(\s*"(\w+)"/g;

async function read(file: string): Promise<string> {
  return await readFile(join(PROJECT, file), "utf8");
}

for (const name of FUNCTIONS) {
  const app = `${FUNCTIONS_FOLDER}/${name}/app.ts`;

  Deno.test(`${app} → a file of each operation, and a line of each file in routes/`, async () => {
    const lines = Array.from(
      (await read(app)).matchAll(LINE),
      ([, path, file]) => ({ path, file: join(FUNCTIONS_FOLDER, name, file!) }),
    );
    assert.deepEqual(lines.map(({ path }) => path), pathsOf(name));
    const loaded = new Set(lines.map(({ file }) => file));
    const all = await filesBelow(FUNCTIONS_FOLDER);
    const routes = await Promise.all(
      all.filter((file) => file.startsWith(`${FUNCTIONS_FOLDER}/${name}/routes/`))
        .map(async (file) => ({ file, text: await read(file) })),
    );
    assert.deepEqual([
      ...lines.filter(({ file }) => !all.includes(file))
        .map(({ path, file }) => `${file} is missing: ${app} loads it for ${path}`),
      ...routes.filter(({ file, text }) => text.includes("createOperation(") && !loaded.has(file))
        .map(({ file }) => `${app}: no line in OPERATIONS loads ${file}`),
    ], []);
  });
}

Deno.test("tests/operations/ → a card of each operation, and no other", async () => {
  const cards = new Map<string, string>();
  for (const file of await filesBelow("tests/operations")) {
    const [, type] = /^export const card\b(.*)$/m.exec(await read(file)) ?? [];
    if (type !== undefined) cards.set(file, type);
  }
  const wanted = new Map(
    FUNCTIONS.flatMap((name) =>
      pathsOf(name).map((path) => [fileOfCard(name, path), `${path} of ${name}`])
    ),
  );
  assert.deepEqual([
    ...wanted.keys().filter((file) => !cards.has(file))
      .map((file) => `${file} is missing: the card of ${wanted.get(file)}`),
    ...cards.keys().filter((file) => !wanted.has(file)).map((file) =>
      `${FUNCTIONS_FOLDER}/*/app.ts: no operation in OPERATIONS has the path of the card ${file}`
    ),
  ], []);
  for (const [file, type] of cards) assert.match(type, /^: (?:Artifacts|Mesh)?Card = /, file);
});

/** Older than the changelog. */
const OLD = ["/acl/put", "/delete", "/inbox/unblock", "/psk/rotate"];

Deno.test("each operation → a line of CHANGELOG.md names it, or it serves only the operator's commands", async () => {
  const changelog = await read("CHANGELOG.md");
  const isTold = (path: string) => new RegExp(`${path}(?![\\w/])`).test(changelog);
  assert.deepEqual(OLD.filter(isTold), []);
  for (const name of FUNCTIONS) {
    for (const [path, { callers }] of await readOperations(name)) {
      if (callers === "the operator" || OLD.includes(path)) continue;
      assert.ok(isTold(path), `CHANGELOG.md: no line names ${path} of ${name}`);
    }
  }
});

/** Where the SQL functions that a file calls belong. */
function schemasOf(file: string): string {
  if (file.includes("/agent-mesh/")) return "supabase/schemas/mesh/";
  if (file.includes("/agent-artifacts/")) return "supabase/schemas/artifacts/";
  return file.startsWith("packages/operator/") ? "supabase/schemas/operator/" : "supabase/schemas/";
}

Deno.test("every SQL function that TypeScript code calls → in a file of supabase/schemas/", async () => {
  const made = new Set(namesOfOperations(await readSchemaFiles()));
  const folders = await Promise.all([FUNCTIONS_FOLDER, "packages/operator"].map(filesBelow));
  const complaints: string[] = [];
  let found = 0;
  for (const file of folders.flat()) {
    if (!file.endsWith(".ts") || file.includes("/tests/")) continue;
    for (const [, called] of (await read(file)).matchAll(CALL)) {
      found += 1;
      if (made.has(`agent_api_${called}`)) continue;
      complaints.push(
        `${schemasOf(file)}: no file of it makes public.agent_api_${called}, which ${file} calls`,
      );
    }
  }
  assert.ok(found > 100, String(found));
  assert.deepEqual(complaints, []);
});

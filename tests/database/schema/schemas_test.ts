import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { compareSchema } from "../../../dev/schema/comparison.ts";
import {
  namesOfOperations,
  namesOfSchemas,
  readSchemaFiles,
} from "../../../packages/local/postgres/schema_files.ts";
import { SUPERUSER_URL, withStackDatabase } from "../connection.ts";

const SCHEMAS = join(PROJECT, "supabase", "schemas");

Deno.test("a database made by the migrations has what supabase/schemas says: every definition, owner, privilege and comment", async () => {
  assert.deepEqual(await compareSchema(SUPERUSER_URL), []);
});

Deno.test("agents.own_schemas() → the schemas that supabase/schemas makes, and so do the privileges", async () => {
  const files = await readSchemaFiles();
  const made = namesOfSchemas(files);
  assert.ok(made.includes("mesh"), made.join());
  const own = await withStackDatabase((sql) =>
    sql<{ name: string }[]>`select unnest(agents.own_schemas()) as name order by name`
  );
  assert.deepEqual(own.map(({ name }) => name), made);
  const listed = files.filter(({ path }) => path.endsWith("privileges.sql")).flatMap(({ text }) =>
    Array.from(text.matchAll(/in schema (\w+, [\w, ]+) (?:from|to)/g), ([, all]) => all)
  );
  assert.deepEqual(new Set(listed), new Set([made.join(", ")]));
});

Deno.test("config.toml names every schema file, once", async () => {
  const named = (await readSchemaFiles()).map(({ path }) => path.replace(/^schemas\//, ""));
  const present = (await readdir(SCHEMAS, { recursive: true })).filter((file) =>
    file.endsWith(".sql")
  );
  assert.deepEqual([...named].sort(), present.sort());
});

Deno.test("a schema file has at most 300 lines, and its comments at most 100 columns", async () => {
  for (const { path, text } of await readSchemaFiles()) {
    const lines = text.split("\n");
    assert.ok(lines.length <= 300, `${path} has ${lines.length} lines`);
    const long = lines.filter((line) => /^\s*--/.test(line) && line.length > 100);
    assert.deepEqual(long, [], path);
  }
});

Deno.test("no SQL function is defined twice in the schemas", async () => {
  const names = (await readSchemaFiles()).flatMap(({ text }) =>
    Array.from(text.matchAll(/^create (?:or replace )?function ([\w.]+)/gm), ([, name]) => name!)
  );
  assert.ok(names.length > 70);
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
});

Deno.test("the functions that privileges.sql names → each is in public, and stands there once", async () => {
  const files = await readSchemaFiles();
  const { text } = files.find(({ path }) => path === "schemas/privileges.sql")!;
  const stated = Array.from(text.matchAll(/'public\.(\w+)'/g), ([, name]) => name!);
  assert.ok(stated.length > 20);
  const names = new Set(namesOfOperations(files));
  assert.deepEqual(
    stated.filter((name, at) => !names.has(name) || stated.indexOf(name) !== at),
    [],
  );
});

Deno.test("no lock is taken in a declaration", async () => {
  for (const { path, text } of await readSchemaFiles()) {
    for (const [, declarations] of text.matchAll(/^declare$(.*?)^begin$/gms)) {
      assert.doesNotMatch(
        declarations!,
        /:=[^;]*\b(?:lock_\w+\(|admit\(|end_access\(|for update)/,
        path,
      );
    }
  }
});

const CHANGE = /\b(?:update\s+[\w.]+(?:\s+(?:as\s+)?\w+)?\s+set|delete\s+from)\b/g;

Deno.test("every update and delete has a where: hosted projects load safeupdate for the API's sessions, which refuses others", async () => {
  let found = 0;
  for (const { path, text } of await readSchemaFiles()) {
    const statements = text.replaceAll(/--.*$/gm, "");
    for (const { index } of statements.matchAll(CHANGE)) {
      const [change] = statements.slice(index).split(";");
      found += 1;
      assert.ok(hasOwnWhere(change!), `${path}: ${change}`);
    }
  }
  assert.ok(found > 40);
});

Deno.test("hasOwnWhere() takes none for its own that belongs to another query", () => {
  assert.equal(hasOwnWhere("delete from a using b where a.id = b.id"), true);
  assert.equal(hasOwnWhere("update a set x = (select 1 from b where b.y)"), false);
  assert.equal(hasOwnWhere("delete from a returning *) select 1 from c where c.z"), false);
  assert.equal(hasOwnWhere("update a set x = 1 loop delete from b where b.y"), false);
});

/** Whether the statement that begins here has a `where` outside parentheses. */
function hasOwnWhere(statement: string): boolean {
  let depth = 0;
  for (const [token] of statement.matchAll(/[()]|\bwhere\b|\bloop\b/g)) {
    if (token === "where" && depth === 0) return true;
    if (token === "loop") return false;
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (depth < 0) return false;
  }
  return false;
}

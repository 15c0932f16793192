import assert from "node:assert/strict";
import { readSchemaFiles, type SchemaFile } from "../../../local/postgres/schema_files.ts";

/** The start of a statement that makes something which others can name. */
const CREATION =
  /^create (?:or replace )?(?:unlogged )?(?:function|procedure|table|view|type|domain|sequence|aggregate) (\w+\.\w+)/gm;

Deno.test("supabase/schemas, in the order of config.toml → every file names only what it or an earlier file makes", async () => {
  const files = await readSchemaFiles();
  assert.ok(creationsIn(files).size > 150);
  assert.deepEqual(forwardReferences(files), []);
});

Deno.test("a file that names what a later one makes → found; its own and an earlier one's → not", () => {
  const first = {
    path: "first.sql",
    text:
      "create table a.one ();\n-- b.two comes later\ncreate function a.f() as $$ select b.two $$;",
  };
  const second = { path: "second.sql", text: "create type b.two as (x a.one, y b.three);" };
  const third = { path: "third.sql", text: "create function b.three() as $$ select a.f() $$;" };
  assert.deepEqual(forwardReferences([first, second, third]), [
    "first.sql names b.two, which second.sql makes",
    "second.sql names b.three, which third.sql makes",
  ]);
});

function forwardReferences(files: readonly SchemaFile[]): string[] {
  const creations = creationsIn(files);
  return files.flatMap(({ path, text }, index) => {
    const names = new Set(withoutComments(text).match(/\b[a-z_]+\.[a-z_0-9]+\b/g) ?? []);
    return [...names].flatMap((name) => {
      const place = creations.get(name);
      return place === undefined || place <= index
        ? []
        : [`${path} names ${name}, which ${files[place]!.path} makes`];
    });
  });
}

/** In which file each thing is made first. */
function creationsIn(files: readonly SchemaFile[]): Map<string, number> {
  const creations = new Map<string, number>();
  for (const [index, { text }] of files.entries()) {
    for (const [, name] of withoutComments(text).matchAll(CREATION)) {
      if (!creations.has(name!)) creations.set(name!, index);
    }
  }
  return creations;
}

function withoutComments(text: string): string {
  return text.replaceAll(/--.*$/gm, "");
}

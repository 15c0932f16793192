import assert from "node:assert/strict";
import { readSchemaFiles, type SchemaFile } from "../../../packages/local/postgres/schema_files.ts";

/** The start of a statement that creates something which other statements can name. */
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

Deno.test("supabase/schemas, in the order of config.toml → each folder once, its own files before or after its folders", async () => {
  const paths = (await readSchemaFiles()).map(({ path }) => path);
  assert.deepEqual(childrenOf("schemas", paths), [
    "agents",
    "webhooks",
    "artifacts",
    "mesh",
    "changes",
    "operator",
    "enrolment",
    FILES,
  ]);
  assert.ok(foldersOf(paths).has("schemas/mesh/rules"), "the folders in folders are found");
  assert.deepEqual(scatteredFolders(paths), []);
});

for (
  const [paths, scattered] of [
    [["a/1", "a/b/1", "a/b/2", "a/c/1", "a/2", "d/1"], []],
    [["a/b/1", "a/c/1", "a/1", "a/2"], []],
    [["a/b/1", "a/1", "a/c/1"], ["a: b, *.sql, c"]],
    [["a/1", "a/b/1", "a/2", "a/b/2"], ["a: *.sql, b, *.sql, b"]],
    [["x/a/1", "x/d/1", "x/a/2"], ["x: a, d, a"]],
  ] as const
) {
  Deno.test(`scatteredFolders() of ${paths.join(", ")} → ${scattered.join() || "none"}`, () => {
    assert.deepEqual(scatteredFolders(paths), scattered);
  });
}

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

/** The index of the file that first creates each thing. */
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

/** Stands for a folder's own files among its sub-folders. */
const FILES = "*.sql";

/**
 * The folders with a sub-folder that is visited more than once, or with files of their own between
 * sub-folders.
 */
function scatteredFolders(paths: readonly string[]): string[] {
  return [...foldersOf(paths)].flatMap((folder) => {
    const children = childrenOf(folder, paths);
    const folders = children.slice(
      children[0] === FILES ? 1 : 0,
      children.length > 1 && children.at(-1) === FILES ? -1 : undefined,
    );
    return folders.includes(FILES) || new Set(folders).size < folders.length
      ? [`${folder}: ${children.join(", ")}`]
      : [];
  });
}

/** A folder's sub-folders and FILES, in the order in which the paths visit them. */
function childrenOf(folder: string, paths: readonly string[]): string[] {
  const children = paths.filter((path) => path.startsWith(`${folder}/`)).map((path) => {
    const [child, ...below] = path.slice(folder.length + 1).split("/");
    return below.length === 0 ? FILES : child!;
  });
  return children.filter((child, index) => child !== children[index - 1]);
}

function foldersOf(paths: readonly string[]): Set<string> {
  return new Set(paths.flatMap((path) => {
    const names = path.split("/").slice(0, -1);
    return names.map((_, index) => names.slice(0, index + 1).join("/"));
  }));
}

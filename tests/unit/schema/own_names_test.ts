import assert from "node:assert/strict";
import { readMigrationFiles } from "../../../packages/local/postgres/migration_files.ts";
import { namesOfSchemas, readSchemaFiles } from "../../../packages/local/postgres/schema_files.ts";

const OWN_SCHEMAS = namesOfSchemas(await readSchemaFiles());
/** What stands between `create` and the kind of object. */
const OPTIONS = "(?:or replace |unlogged |materialized |global |local |temp(?:orary)? )*";
const KINDS =
  "function|procedure|aggregate|table|foreign table|view|type|domain|sequence|collation|operator(?: class| family)?|statistics|text search \\w+";
/** An index and a trigger lie in the schema of their table, so they are left out. */
const CREATION = new RegExp(`^\\s*create ${OPTIONS}(${KINDS}) (?:if not exists )?([\\w."]+)`, "gm");
/** Puts an object that exists into a schema, or under a name. */
const MOVE = /^\s*alter \w+(?: \w+)? \S+ (?:set schema|rename to) .*$/gm;

for (
  const [what, texts] of [
    ["schemas", (await readSchemaFiles()).map(({ text }) => text)],
    ["migrations", (await readMigrationFiles()).map(({ text }) => text)],
  ] as const
) {
  Deno.test(`supabase/${what} → in public, only functions that begin with agent_api_`, () => {
    assert.ok(texts.flatMap(creationsIn).length > 200);
    assert.deepEqual(texts.flatMap(strangersIn), []);
  });
}

Deno.test("an object in public without the prefix, of another kind, or without a schema → found", () => {
  const found = {
    "create function public.list_agents() returns json": "function public.list_agents",
    "create or replace function public.leave() returns json": "function public.leave",
    "create unlogged table public.agent_api_counts (n integer);": "table public.agent_api_counts",
    "create materialized view if not exists public.agents as": "view public.agents",
    "create type public.agent_api_kind as enum ();": "type public.agent_api_kind",
    "create table counts (n integer);": "table counts",
    "do $$ begin\n  create domain name as text;\nend $$;": "domain name",
    "create sequence storage.numbers;": "sequence storage.numbers",
  };
  for (const [text, stranger] of Object.entries(found)) {
    assert.deepEqual(strangersIn(text), [stranger], text);
  }
  const moved = "alter table agents.keys set schema public;";
  assert.deepEqual(strangersIn(moved), [moved]);
  for (
    const text of [
      "create function public.agent_api_leave() returns json",
      "create table agents.keys (key_id text);",
      "-- create table public.keys",
      "create index keys_by_agent on agents.keys (agent_id);",
    ]
  ) {
    assert.deepEqual(strangersIn(text), [], text);
  }
});

function strangersIn(text: string): string[] {
  const others = creationsIn(text).filter(({ kind, name }) => {
    const [schema, object] = name.split(".");
    if (object === undefined || schema === undefined) return true;
    if (OWN_SCHEMAS.includes(schema)) return false;
    return !(schema === "public" && kind === "function" && /^agent_api_[a-z]/.test(object));
  });
  return [
    ...others.map(({ kind, name }) => `${kind} ${name}`),
    ...withoutComments(text).match(MOVE) ?? [],
  ];
}

function creationsIn(text: string): { kind: string; name: string }[] {
  return Array.from(
    withoutComments(text).matchAll(CREATION),
    ([, kind, name]) => ({ kind: kind!, name: name! }),
  );
}

function withoutComments(text: string): string {
  return text.replaceAll(/--.*$/gm, "");
}

/** Which functions of an app the doctor reports, because everybody can use our tables by them. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "../connection.ts";

/** What an app may have beside us, with our names. */
const APP = `
  create schema app;
  grant usage on schema app to anon;
  create table app."agents.keys" (id bigint);
  create table app.agents (id bigint, names text, keys text, tags text[]);
  create table app.runs (agent bigint);
  create schema "my-agents";
  create table "my-agents".keys (id bigint);`;

async function openFunctions(sql: postgres.Sql): Promise<string[]> {
  const [row] = await sql<[{ objects: string[] }]>`
    select array(
      select o ->> 'object' from json_array_elements(agents.open_objects()) o
      where o ->> 'kind' = 'function'
    ) as objects`;
  return row.objects;
}

async function reports(
  sql: postgres.Sql,
  body: string,
  settings = "",
): Promise<boolean> {
  await sql.unsafe(`
    create or replace function app.tried() returns void language plpgsql security definer ${settings}
    as $body$ begin ${body} end $body$`);
  const found = await openFunctions(sql);
  await sql.unsafe("drop function app.tried()");
  assert.ok(found.every((name) => name === "app.tried()"), found.join());
  return found.length === 1;
}

const USES: readonly (readonly [body: string, settings?: string])[] = [
  ["perform from agents.keys;"],
  ["perform from Agents . Keys k;"],
  [`perform from "agents"."keys";`],
  ["perform from app.runs r, agents.keys k;"],
  ["perform from (agents.keys k join app.runs r on true);"],
  ["perform from app.runs r join only mesh.peers p on true;"],
  ["update agents.keys set label = '' where false;"],
  ["delete from artifacts.grants where false;"],
  ["insert into mesh.rules default values;"],
  ["perform from app.agents a, agents.keys k;"],
  ["update app.agents set keys = agents.keys from agents.keys where false;"],
  ["execute 'select key_hash from agents.keys';"],
  ["execute 'grant select on agents.keys to anon';"],
  ["perform from artifacts.current_objects;"],
  ["perform from keys;", "set search_path = agents"],
  ["perform from app.runs, peers p;", `set search_path = app, "mesh"`],
];

Deno.test("a function of the app that runs as its owner and names a table of ours → reported", async (test) => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(APP);
    for (const [body, settings] of USES) {
      await test.step(`${body} ${settings ?? ""}`, async () => {
        assert.equal(await reports(sql, body, settings), true);
      });
    }
  });
});

const OTHERS: readonly (readonly [body: string, settings?: string])[] = [
  [`perform from app."agents.keys";`],
  [`perform from "agents.keys";`, "set search_path = app"],
  ["perform agents.keys, agents.names from app.agents where agents.tags = '{}';"],
  ["perform agents.keys from agents;", "set search_path = app"],
  ["perform agents.keys from app.agents join app.runs on agents.keys = agents.names;"],
  ["perform a.keys from app.agents a; perform agents.tags from app.runs as agents;"],
  ["update app.agents set keys = agents.keys || 'x' where false;"],
  ["perform from app.agents where id = any (array[1, agents.id]); perform 1, agents.keys from app.agents;"],
  ["-- It does not read agents.keys.\n /* nor from\n agents.keys */ perform 1;"],
  ["perform from app.agents.keys;"],
  ["perform from team_agents.keys; perform from agents.keys_of_mine;"],
  ["perform from keys;", `set search_path = "my-agents"`],
  ["perform r.keys from app.runs r;", "set search_path = agents, app"],
];

Deno.test("a function of the app that only uses names like ours → not reported", async (test) => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(APP);
    for (const [body, settings] of OTHERS) {
      await test.step(`${body} ${settings ?? ""}`, async () => {
        assert.equal(await reports(sql, body, settings), false);
      });
    }
  });
});

Deno.test("trigger functions of the app over our tables, which nobody can call → not reported", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(`${APP}
      create function app.note() returns trigger language plpgsql security definer
        as $$ begin perform from agents.keys; return null; end $$`);
    assert.deepEqual(await openFunctions(sql), []);
  });
});

Deno.test("an SQL-standard body over a view of the app over our tables → reported; over the app's own tables → not", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(`${APP}
      create view app.all_keys as select key_id from agents.keys;
      create function app.count_keys() returns bigint language sql security definer
        return (select count(*) from app.all_keys);
      create function app.count_own() returns bigint language sql security definer
        return (select count(*) from app."agents.keys")`);
    assert.deepEqual(await openFunctions(sql), ["app.count_keys()"]);
  });
});

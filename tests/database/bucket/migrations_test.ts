import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "../connection.ts";
import { LOOKED_AT } from "./migrations.ts";
import { addVersionColumns, removeVersionColumns } from "./versions.ts";

type Tables = Record<"objects" | "buckets" | "indexes", Record<string, string>>;

/** What the first migrations of the list leave: all of them, or those before the one named. */
function leftBy(before?: string): Tables {
  const left: Tables = { objects: {}, buckets: {}, indexes: {} };
  for (const [name, effect = {}] of LOOKED_AT) {
    if (name === before) break;
    for (const part of ["objects", "buckets", "indexes"] as const) {
      for (const [changed, value] of Object.entries(effect[part] ?? {})) {
        if (value === null) delete left[part][changed];
        else left[part][changed] = value;
      }
    }
  }
  return left;
}

async function tablesOf(sql: postgres.Sql): Promise<Tables> {
  const columnsOf = async (table: string) =>
    Object.fromEntries(
      (await sql<{ name: string; type: string }[]>`
        select a.attname as name,
          format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
            as type
        from pg_attribute a
        where a.attrelid = ${table}::regclass and a.attnum > 0 and not a.attisdropped`)
        .map(({ name, type }) => [name, type]),
    );
  const indexes = await sql<{ name: string; definition: string }[]>`
    select i.indexname as name, split_part(i.indexdef, ' USING ', 2) as definition
    from pg_indexes i
    where i.schemaname = 'storage' and i.tablename in ('objects', 'buckets')`;
  return {
    objects: await columnsOf("storage.objects"),
    buckets: await columnsOf("storage.buckets"),
    indexes: Object.fromEntries(indexes.map(({ name, definition }) => [name, definition])),
  };
}

Deno.test("the stand-in's tables of Storage → the columns and indexes that Storage's migrations leave", async () => {
  await withProjectDatabase({}, async (sql) => {
    assert.deepEqual(await tablesOf(sql), leftBy());
  });
});

Deno.test("the stand-in's tables without versions → those of Storage before migration 62; with the columns added → those of today, but for indexes", async () => {
  await withProjectDatabase({}, async (sql) => {
    await removeVersionColumns(sql);
    const before = leftBy("object-versioning-core");
    const { lifecycle_configuration, lifecycle_configuration_generation, ...buckets } =
      (await tablesOf(sql)).buckets;
    assert.ok(lifecycle_configuration && lifecycle_configuration_generation);
    assert.deepEqual({ ...await tablesOf(sql), buckets }, before);
    await addVersionColumns(sql);
    const { objects, buckets: all } = leftBy();
    const now = await tablesOf(sql);
    assert.deepEqual([now.objects, now.buckets], [objects, all]);
  });
});

Deno.test("Storage's migrations that were looked at → each once, 62 adds the columns for versions", () => {
  const names = LOOKED_AT.map(([name]) => name);
  assert.deepEqual(names.filter((name, place) => names.indexOf(name) !== place), []);
  assert.equal(names.indexOf("object-versioning-core"), 62);
  assert.equal(names.indexOf("drop-bucketid-objname-index"), 72);
});

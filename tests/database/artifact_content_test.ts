import assert from "node:assert/strict";
import { withStackDatabase } from "./connection.ts";

/** What everybody who may have the bytes sees, in each answer about an artifact. */
const ANSWERS = {
  "artifacts.artifact_json": "artifacts.artifact_json(a)::jsonb",
  "artifacts.download_json": "artifacts.download_json(a, null, 60, null)::jsonb",
  "artifacts.entry_json": "artifacts.entry_json(null, a, null, null, false, null)",
};

for (const [name, call] of Object.entries(ANSWERS)) {
  Deno.test(`${name} → every field of artifacts.content_json with its value: none has another meaning there`, async () => {
    await withStackDatabase(async (sql) => {
      // An artifact with another value in every column.
      const rows = await sql.unsafe(`
        with filled as (
          select jsonb_object_agg(c.column_name, case c.data_type
            when 'jsonb' then jsonb_build_object('of', c.column_name)
            when 'boolean' then 'true'
            when 'timestamp with time zone' then to_jsonb(now())
            when 'text' then to_jsonb(c.column_name)
            else to_jsonb(c.ordinal_position::integer)
          end) as columns
          from information_schema.columns c
          where (c.table_schema, c.table_name) = ('artifacts', 'artifacts')
        )
        select f.key, f.value as content, ${call} -> f.key as answer
        from filled
        cross join lateral jsonb_populate_record(null::artifacts.artifacts, columns) a
        cross join lateral jsonb_each(artifacts.content_json(a)) f
      `);
      assert.ok(rows.length >= 7);
      assert.deepEqual(
        rows.filter(({ content, answer }) =>
          content === null || answer === null ||
          JSON.stringify(content) !== JSON.stringify(answer)
        )
          .map(({ key }) =>
            `${name} has a \`${key}\` of its own: call one of the two otherwise, or content_json has no column of the artifact there`
          ),
        [],
      );
    });
  });
}

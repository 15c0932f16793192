import assert from "node:assert/strict";
import { readMigrationFiles } from "../../../packages/local/postgres/migration_files.ts";

/** The last statement of a migration, alone or in a block, as privileges.sql ends with it. */
const RECORDS =
  /;\s*(?:select agents\.record_structure\(\);|do \$\$\s*begin\s*perform agents\.record_structure\(\);\s*end\s*\$\$;)\s*$/;

const BEGINS = /^\s*select agents\.begin_migration\(\);/;

Deno.test("the last statement of every migration → records the structure that the doctor compares with", async () => {
  const migrations = await readMigrationFiles();
  assert.ok(migrations.length > 0, "no migration was found");
  const others = migrations.filter(({ text }) => !RECORDS.test(withoutComments(text)));
  assert.deepEqual(others.map(({ file }) => file), []);
});

Deno.test("the first statement of every migration but the first → notes what others made, so that it is not recorded", async () => {
  const [first, ...later] = await readMigrationFiles();
  assert.doesNotMatch(withoutComments(first!.text), BEGINS);
  const others = later.filter(({ text }) => !BEGINS.test(withoutComments(text)));
  assert.deepEqual(others.map(({ file }) => file), []);
});

Deno.test("a migration that begins with begin_migration → accepted; one that calls it later, or only says so → found", () => {
  assert.match(withoutComments("-- Why\n\nselect agents.begin_migration();\n"), BEGINS);
  for (
    const text of [
      "select 1; select agents.begin_migration();",
      "-- select agents.begin_migration();",
    ]
  ) {
    assert.doesNotMatch(withoutComments(text), BEGINS);
  }
});

Deno.test("a migration that records, and then changes something, or only says that it records → found", () => {
  for (
    const text of [
      "select 1; select agents.record_structure();",
      "select 1;\ndo $$\nbegin\n  perform agents.record_structure();\nend\n$$;\n",
    ]
  ) {
    assert.match(text, RECORDS);
  }
  for (
    const text of [
      "select 1; select agents.record_structure(); drop index agents.one;",
      "select 1;\n-- select agents.record_structure();",
    ]
  ) {
    assert.doesNotMatch(withoutComments(text), RECORDS);
  }
});

function withoutComments(text: string): string {
  return text.replaceAll(/--.*$/gm, "");
}

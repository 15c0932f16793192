import assert from "node:assert/strict";
import { splitStatements } from "../../dev/postgres/sql_statements.ts";

Deno.test("splitStatements() trims, drops final semicolons and empty statements", () => {
  assert.deepEqual(splitStatements("\nselect 1;\n\n; select 2 ;\n"), ["select 1", "select 2"]);
});

for (
  const statement of [
    "select 'a;''b;'",
    `select ";"`,
    String.raw`select E'it\';s'`,
    "select $$ ; $$",
    "select $body$ ; $$ ; $body$",
    "select 1 -- one; two",
    "select /* ; /* ; */ ; */ 1",
    "create function f() returns int begin atomic select case when true then 1 end; end",
  ]
) {
  Deno.test(`splitStatements() does not split ${statement}`, () => {
    assert.deepEqual(splitStatements(`${statement}\n;select 2`), [statement, "select 2"]);
  });
}

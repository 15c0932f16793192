import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT } from "../../../dev/command/project.ts";
import { compareCatalogues, readCatalogue } from "../../../dev/postgres/catalogue.ts";
import { MIGRATIONS_DIRECTORY } from "../../../dev/postgres/migrations.ts";
import { compareSchema } from "../../../dev/postgres/schema_comparison.ts";
import { readSchemaFiles } from "../../../dev/postgres/schemas.ts";
import { SUPERUSER_URL, withProjectDatabase } from "../connection.ts";

const MIGRATIONS = fileURLToPath(MIGRATIONS_DIRECTORY);
const ROLL_BACK = new Error("the change was seen");
const SCHEMAS = join(PROJECT, "supabase", "schemas");

Deno.test("a database made by the migrations has what supabase/schemas says: every definition, owner, privilege and comment", async () => {
  assert.deepEqual(await compareSchema(SUPERUSER_URL), []);
});

Deno.test("compareCatalogues() names what one side lacks, and shows both of what differs", () => {
  const differences = compareCatalogues({
    migrations: new Map([["table a", "1"], ["table b", "1"], ["table d", "same"]]),
    schemas: new Map([["table b", "2"], ["table c", "1"], ["table d", "same"]]),
  });
  assert.equal(differences.length, 3);
  assert.match(differences[0]!, /^table a: made by the migrations, not in/);
  assert.match(differences[1]!, /^table b: the migrations make\n {4}1\n.*says\n {4}2$/s);
  assert.match(differences[2]!, /^table c: in supabase\/schemas, not made/);
});

Deno.test("readCatalogue() sees a change of each kind", async () => {
  const changes: Record<string, string> = {
    "column agents.keys.label": "alter table agents.keys alter label set default 'x'",
    "column mesh.peers.endpoint": "comment on column mesh.peers.endpoint is 'x'",
    "constraint port_is_a_port of mesh.rules":
      "alter table mesh.rules drop constraint port_is_a_port",
    "constraint agent_id_is_well_formed of agents.agent_id":
      "alter domain agents.agent_id drop constraint agent_id_is_well_formed",
    "domain agents.agent_id": "comment on domain agents.agent_id is 'x'",
    "function mesh.lock_addresses()": "grant execute on function mesh.lock_addresses() to anon",
    "function public.check_health()":
      "create or replace function public.check_health() returns json language sql return null::json",
    "index mesh.resting_address_leases": "drop index mesh.resting_address_leases",
    "schema mesh": "grant usage on schema mesh to anon",
    "table artifacts.grants": "alter table artifacts.grants disable row level security",
    "table mesh.settings": "alter table mesh.settings owner to supabase_admin",
    "type artifacts.share": "comment on type artifacts.share is 'x'",
    "column artifacts.share.added": "alter type artifacts.share add attribute added text",
    "trigger networks_change_only_without_peers of mesh.settings":
      "alter table mesh.settings disable trigger networks_change_only_without_peers",
    "policy everybody of mesh.rules": "create policy everybody on mesh.rules",
  };
  await withProjectDatabase({}, async (sql) => {
    const schemas = await readCatalogue(sql);
    for (const [name, change] of Object.entries(changes)) {
      await sql.begin(async (transaction) => {
        await transaction.unsafe(change);
        const migrations = await readCatalogue(transaction);
        const differences = compareCatalogues({ migrations, schemas });
        assert.ok(
          differences.some((line) => line.startsWith(`${name}: `)),
          `${change}: ${differences}`,
        );
        throw ROLL_BACK;
      }).catch((cause: unknown) => {
        if (cause !== ROLL_BACK) throw cause;
      });
    }
    assert.deepEqual(compareCatalogues({ migrations: await readCatalogue(sql), schemas }), []);
  });
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

Deno.test("no SQL function is defined twice, neither in the schemas nor in the migrations", async () => {
  const schemas = (await readSchemaFiles()).map(({ text }) => text);
  const migrations = await Promise.all(
    (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).map((file) =>
      readFile(join(MIGRATIONS, file), "utf8")
    ),
  );
  for (const texts of [schemas, migrations]) {
    const names = texts.flatMap((text) =>
      Array.from(text.matchAll(/^create (?:or replace )?function ([\w.]+)/gm), ([, name]) => name!)
    );
    assert.ok(names.length > 70);
    assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  }
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

/** Whether a change that begins here has a `where` that is not inside of parentheses. */
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

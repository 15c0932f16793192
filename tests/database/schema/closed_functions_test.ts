import assert from "node:assert/strict";
import { withProjectDatabase } from "../connection.ts";

Deno.test("close_functions() after pg_restore has opened every function in public → only service_role executes ours, those of others stay; again → none was open", async () => {
  await withProjectDatabase({ defaultPrivileges: "older" }, async (sql) => {
    await sql`create function public.of_the_app() returns integer language sql return 1`;
    const openOf = async () => {
      const rows = await sql<{ name: string }[]>`
        select p.proname as name from pg_catalog.pg_proc p
        where p.pronamespace = 'public'::regnamespace
          and has_function_privilege('anon', p.oid, 'execute')
        order by 1`;
      return rows.map(({ name }) => name);
    };
    assert.deepEqual(await openOf(), ["of_the_app"]);
    await sql`grant execute on all functions in schema public to public, anon, authenticated`;
    const open = await openOf();
    assert.ok(open.length > 100, `${open.length}`);

    // As the owner, like psql with the project's URL.
    const close = async () => {
      const [row] = await sql.begin(async (transaction) => {
        await transaction`set local role postgres`;
        return await transaction`select agents.close_functions() as count`;
      });
      return row!["count"];
    };
    assert.equal(await close(), open.length - 1);
    assert.deepEqual(await openOf(), ["of_the_app"]);
    const closed = await sql`
      select p.proname from pg_catalog.pg_proc p
      where p.pronamespace = 'public'::regnamespace
        and not has_function_privilege('service_role', p.oid, 'execute')`;
    assert.deepEqual([...closed], []);
    assert.equal(await close(), 0);
  });
});

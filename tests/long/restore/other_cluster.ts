import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { stateFiles } from "../../../packages/local/state/state_files.ts";
import type { RestorableStack } from "./restorable_stack.ts";

/**
 * Uses up transaction numbers of a PostgreSQL server, as a year of work does: each row is written
 * in a subtransaction with its own number.
 */
export async function countTransactions(database: RestorableStack, count: number): Promise<void> {
  await using sql = connect(database);
  await sql.unsafe(`
    create temporary table counted (n integer);
    do $$
    begin
      for n in 1..${count} loop
        begin
          insert into counted values (n);
        exception when division_by_zero then null;
        end;
      end loop;
    end $$`);
}

/**
 * Does what restoring a dump of the whole database and copying the bucket do: rows and sequences
 * come from the other server, but the transaction counter does not.
 */
export async function moveProject(from: RestorableStack, to: RestorableStack): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-dump-" });
  // PostgreSQL runs as another user than this process. Both servers run as the same user.
  await Deno.chmod(directory, 0o777);
  try {
    await using source = connect(from);
    await using target = connect(to);
    const tables = await source<{ name: string }[]>`
      select c.oid::regclass::text as name
      from pg_catalog.pg_class c
      where c.relkind = 'r'
        and c.relnamespace::regnamespace::text in ('agents', 'artifacts', 'mesh', 'storage')
      order by 1`;
    // Skip constraints and triggers, as pg_restore does: the source has checked these rows already.
    await target`set session_replication_role = replica`;
    await target.unsafe(`truncate ${tables.map(({ name }) => name).join(", ")}`);
    for (const { name } of tables) {
      await source.unsafe(`copy ${name} to '${join(directory, name)}'`);
      await target.unsafe(`copy ${name} from '${join(directory, name)}'`);
    }
    const sequences = await source<{ name: string; last: string }[]>`
      select format('%I.%I', schemaname, sequencename) as name, last_value as last
      from pg_catalog.pg_sequences
      where schemaname in ('agents', 'artifacts', 'mesh', 'storage') and last_value is not null`;
    for (const { name, last } of sequences) await target`select setval(${name}, ${last})`;
  } finally {
    await rm(directory, { recursive: true });
  }
  const [bucket, copy] = [from, to].map(({ stateDir }) => stateFiles(stateDir).storage);
  await cp(bucket!, copy!, { recursive: true, force: true });
}

function connect(database: RestorableStack): postgres.Sql & AsyncDisposable {
  const sql = postgres(database.stack.superuserDatabaseUrl, { max: 1, onnotice: () => {} });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end() });
}

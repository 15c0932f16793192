import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMigrationFiles } from "../../../packages/local/postgres/migration_files.ts";
import { dumpName, makeDump, SimulatedDatabase } from "./database.ts";

/** A change of the release's SQL, to see whether the simulator finds what it breaks. */
export type SqlPatch = (sql: string) => string;

/**
 * Opens a database that has the platform's SQL and the release's, changed by `patch`. The data
 * directory is made once, and kept beside other temporary files.
 */
export async function openDatabase(patch: SqlPatch = (sql) => sql): Promise<SimulatedDatabase> {
  const migrations = await readMigrationFiles();
  const release = patch(migrations.map(({ text }) => text).join("\n"));
  const sql = [await platformSql(), release];
  const file = join(tmpdir(), `agent-simulation-${dumpName(sql)}.tar`);
  const dump = await readFile(file).then((bytes) => new Uint8Array(bytes), async () => {
    const made = await makeDump(sql);
    const unfinished = `${file}.${Deno.pid}`;
    await Deno.writeFile(unfinished, made);
    // Several processes may make it at once.
    await Deno.rename(unfinished, file);
    return made;
  });
  return await SimulatedDatabase.open(dump);
}

/** As `packages/local/postgres/platform.ts` applies it, without what PGlite has or lacks. */
async function platformSql(): Promise<string> {
  const names = ["roles", "schemas", "default_privileges_older", "storage"];
  const texts = await Promise.all(names.map((name) =>
    readFile(
      new URL(`../../../packages/local/postgres/platform/${name}.sql`, import.meta.url),
      "utf8",
    )
  ));
  const sql = texts.join("\n")
    .replace(/^create role postgres [^;]*;/m, "")
    .replaceAll(/^alter (role|default privileges for role) supabase_admin [^;]*;/gm, "");
  return `begin; ${sql} commit;`;
}

/**
 * A stock Supabase database without this project's migrations, on the cluster of the stack that
 * runs the tests.
 */
import postgres from "postgres";
import { createProjectDatabase } from "../../../local/postgres/platform.ts";

export interface ProjectDatabase extends AsyncDisposable {
  /** As the role that migrates; the local server speaks no TLS, and the CLI has to be told. */
  readonly url: string;
  readonly sql: postgres.Sql;
}

/** Opens one of an older project, which grants new functions to everybody; dropped at the end. */
export async function openProjectDatabase(): Promise<ProjectDatabase> {
  const superuserUrl = Deno.env.get("SUPABASE_SUPERUSER_DB_URL")!;
  const name = `deploy_${crypto.randomUUID().replaceAll("-", "")}`;
  const url = await createProjectDatabase({ superuserUrl, name, defaultPrivileges: "older" }) +
    "?sslmode=disable";
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return {
    url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end();
      const cluster = postgres(superuserUrl, { max: 1 });
      await cluster`drop database ${cluster(name)} with (force)`;
      await cluster.end();
    },
  };
}

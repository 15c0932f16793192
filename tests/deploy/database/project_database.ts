/**
 * A stock Supabase database without this project's migrations, on the cluster of the stack that
 * runs the tests.
 */
import postgres from "postgres";
import { createProjectDatabase } from "../../../packages/local/postgres/platform.ts";

export interface ProjectDatabase extends AsyncDisposable {
  /**
   * Connects as the role that runs migrations. `sslmode=disable`, as the local server has no TLS.
   */
  readonly url: string;
  readonly sql: postgres.Sql;
}

/** Opens one with an older project's default privileges, which grant new functions to everybody. */
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

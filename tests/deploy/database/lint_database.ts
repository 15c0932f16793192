/**
 * `supabase db lint` needs a server with plpgsql_check. The embedded PostgreSQL does not have it,
 * so this looks for Debian's server, whose major version may differ.
 */
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import { preparePlatform } from "../../../packages/local/postgres/platform.ts";
import { openCluster, startPostgres, SUPERUSER } from "../../../packages/local/postgres/cluster.ts";
import type { PostgresBinaries } from "../../../packages/local/postgres/binaries.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";

const SERVERS = "/usr/lib/postgresql";

/** The newest server with plpgsql_check; null if no server has it. */
export async function findLintServer(): Promise<PostgresBinaries | null> {
  const versions = await readdir(SERVERS).catch(() => []);
  for (const version of versions.toSorted((a, b) => Number(b) - Number(a))) {
    const directory = join(SERVERS, version);
    const extension = stat(join(directory, "lib", "plpgsql_check.so"));
    if (await extension.then(() => true, () => false)) {
      return {
        initdb: join(directory, "bin", "initdb"),
        postgres: join(directory, "bin", "postgres"),
        environment: {},
        copied: null,
      };
    }
  }
  return null;
}

/**
 * Starts a server with a stock Supabase database that has this project's migrations and
 * plpgsql_check. Disposing of the result stops the server.
 */
export async function openLintDatabase(
  binaries: PostgresBinaries,
): Promise<AsyncDisposable & { readonly url: string }> {
  await using resources = new AsyncDisposableStack();
  const state = resources.use(await openStateDirectory());
  await mkdir(join(state.path, "logs"));
  const password = crypto.randomUUID().replaceAll("-", "");
  const cluster = await openCluster({
    stateDir: state.path,
    superuserPassword: password,
    durable: false,
    binaries,
  });
  const { port, child } = await startPostgres(cluster, { durable: false });
  resources.defer(() => child.terminate("SIGINT"));
  const urlOf = (role: string) => `postgresql://${role}:${password}@127.0.0.1:${port}/postgres`;

  await preparePlatform(urlOf(SUPERUSER), password);
  await applyMigrations({ databaseUrl: urlOf("postgres") });
  // On the platform, the linting role itself may create the extension.
  const sql = postgres(urlOf(SUPERUSER), { max: 1, onnotice: () => {} });
  await sql`create extension plpgsql_check`;
  await sql.end();

  const opened = resources.move();
  return {
    url: `${urlOf("postgres")}?sslmode=disable`,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

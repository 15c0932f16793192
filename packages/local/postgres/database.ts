import { keepRunning } from "../processes/keep_running.ts";
import { CommandError } from "../../command/command_error.ts";
import { applyMigrations, findForeignMigration } from "./migrations.ts";
import { preparePlatform } from "./platform.ts";
import { openCluster, startPostgres, SUPERUSER } from "./cluster.ts";
import { openTemplate, replacePassword } from "./template.ts";
import type { ProcessRecords } from "../state/process_records.ts";
import type { ProjectKeys } from "../state/project_keys.ts";

/** The stack options that a database needs. */
export interface DatabaseOptions {
  readonly stateDir: string;
  readonly durable: boolean;
  /** Null: the npm package's PostgreSQL. */
  readonly postgresDirectory: string | null;
  /** Null: the project's own migrations. */
  readonly migrationsDirectory: string | URL | null;
  /**
   * A folder for a template of the database (see template.ts), for one that is not durable. Null:
   * the database is made without one.
   */
  readonly templates: string | null;
  readonly onProgress: (line: string) => void;
}

export interface Database {
  /** The URL of the database `postgres`, as `role`. */
  url(role: string): string;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL with Supabase's roles and schemas, and applies the project's migrations. Throws
 * CommandError. Does not change a database that another schema made.
 */
export async function startDatabase(
  options: DatabaseOptions,
  { keys, records }: { readonly keys: ProjectKeys; readonly records: ProcessRecords },
): Promise<Database> {
  const { durable, onProgress } = options;
  onProgress("Preparing PostgreSQL (the first run downloads it, about 20 MB) …");
  const cluster = await openCluster({
    stateDir: options.stateDir,
    superuserPassword: keys.databasePassword,
    durable,
    postgresDirectory: options.postgresDirectory,
    // Migrations of a test's own are used once: a template of them would only be made and copied.
    template: options.templates === null || durable || options.migrationsDirectory !== null
      ? null
      : await openTemplate({ ...options, folder: options.templates }),
  });
  let port: number | undefined;
  const server = await keepRunning({
    name: "PostgreSQL",
    onProgress,
    async start() {
      const running = await startPostgres(cluster, {
        durable,
        ...(port === undefined ? {} : { port }),
      });
      port = running.port;
      await records.set("postgres", running.child.pid);
      return {
        ended: running.child.ended,
        // The "fast" shutdown, which does not wait for clients.
        stop: () => running.child.terminate("SIGINT", 10_000),
      };
    },
  });

  function url(role: string, password = keys.databasePassword): string {
    return `postgresql://${role}:${password}@127.0.0.1:${port}/postgres`;
  }

  try {
    if (cluster.copiedPassword !== null) {
      await replacePassword(url(SUPERUSER, cluster.copiedPassword), keys.databasePassword);
    }
    await preparePlatform(url(SUPERUSER), keys.databasePassword);
    const migrations = { databaseUrl: url("postgres"), directory: options.migrationsDirectory };
    const foreign = await findForeignMigration(migrations);
    if (foreign !== null) throw new CommandError(otherSchema(options.stateDir, foreign));
    const applied = await applyMigrations(migrations);
    for (const file of applied) onProgress(`Applied migration ${file}`);
  } catch (cause) {
    await server.stop();
    throw cause;
  }
  return { url: (role) => url(role), stop: () => server.stop() };
}

function otherSchema(stateDir: string, foreign: string): string {
  return `The database in ${stateDir} was made by other migrations (this checkout does not have ${foreign} as it was applied): run \`deno task reset\`, which deletes the database, files and keys, or start the checkout that made it.`;
}

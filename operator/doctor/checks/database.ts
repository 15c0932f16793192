import { PUSH } from "../findings/remedies.ts";
import type { Checkout, Migration } from "../facts/checkout.ts";
import {
  type DatabaseFacts,
  type Facts,
  inspected,
  mayNotInspect,
  refusesSecretKey,
} from "../facts/facts.ts";
import { fieldOf, wordsOf } from "../facts/reply.ts";
import { fault, type Finding, note, ok } from "../findings/finding.ts";

/** PostgreSQL's, where PostgREST has not noticed yet that a function is gone. */
const UNDEFINED_FUNCTION = "42883";
/** There is no function of this name with these parameters. */
const NO_SUCH_FUNCTION: readonly unknown[] = ["PGRST202", UNDEFINED_FUNCTION];

/** Whether the database is the one that this checkout makes, and closed to outsiders. */
export function checkDatabase(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [whyNotInspected(facts)];
  const foreign = findForeignMigrations(database, facts.checkout);
  if (foreign.length > 0) {
    // Functions that are missing are then those of the other schema: nothing mends them one by one.
    return [reportForeignMigrations(foreign), ...checkOutsiders(database)];
  }
  return [
    ...checkMigrations(database, facts.checkout),
    ...checkOperations(database),
    ...checkOutsiders(database),
  ];
}

function whyNotInspected(facts: Facts): Finding {
  const { inspection, url } = facts;
  if (NO_SUCH_FUNCTION.includes(fieldOf(inspection, "code"))) {
    return fault(
      "migrations",
      "The database does not know inspect_deployment: the newest migrations were not applied.",
      PUSH,
    );
  }
  if (mayNotInspect(facts)) return notCallable(["inspect_deployment"]);
  if (refusesSecretKey(facts)) {
    return fault(
      "secret key",
      `The project does not take SUPABASE_SECRET_KEY (${wordsOf(inspection)}).`,
      `Set it to the secret key of the project at ${url}: Settings, API Keys.`,
    );
  }
  return fault(
    "database",
    `The database cannot be asked: ${wordsOf(inspection)}.`,
    `See whether the project at ${url} is running, and not paused.`,
  );
}

/**
 * The migrations of this checkout whose version was applied with another name or text. A project in
 * use has migrations of its own, and those that are newer than this checkout's look the same: what
 * they did to our functions shows in the other checks.
 */
function findForeignMigrations({ migrations }: DatabaseFacts, checkout: Checkout): Migration[] {
  const applied = new Map(migrations?.map((migration) => [migration.version, migration]));
  return checkout.migrations.filter((migration) => {
    const record = applied.get(migration.version);
    if (record === undefined) return false;
    return record.name !== migration.name ||
      record.digest !== null && record.digest !== migration.digest;
  });
}

function reportForeignMigrations(foreign: readonly Migration[]): Finding {
  return fault(
    "migrations",
    `The database was made by another schema: ${
      listed(foreign.map(fileOf))
    } was applied with another name or text.`,
    "No migration leads from there to this checkout: run the doctor of the checkout that was deployed and stay with it, or deploy this one to a new project (the local stack: deno task reset)",
  );
}

function checkMigrations({ migrations }: DatabaseFacts, checkout: Checkout): Finding[] {
  if (migrations === null) {
    return [note(
      "migrations",
      "Nobody recorded which migrations this database has.",
      `Apply them by the Supabase CLI, which keeps records: ${PUSH}`,
    )];
  }
  const applied = new Set(migrations.map(({ version }) => version));
  const missing = checkout.migrations.filter(({ version }) => !applied.has(version));
  if (missing.length > 0) {
    return [fault("migrations", `Not applied yet: ${listed(missing.map(fileOf))}.`, PUSH)];
  }
  const own = checkout.migrations.length;
  return [
    ok(
      "migrations",
      own === 1
        ? `The one migration of this checkout is applied.`
        : `All ${own} migrations of this checkout are applied.`,
    ),
  ];
}

function checkOperations({ missing_operations }: DatabaseFacts): Finding[] {
  if (missing_operations.length === 0) {
    return [ok("SQL functions", "service_role can call all of them.")];
  }
  return [notCallable(missing_operations)];
}

function notCallable(operations: readonly string[]): Finding {
  return fault(
    "SQL functions",
    `service_role cannot call ${listed(operations)}: dropped, or not granted.`,
    "Run supabase/schemas/privileges.sql in the SQL editor; what it says is missing, the migrations make.",
  );
}

/** SQL functions believe what they are told about the caller: only Edge Functions may call them. */
function checkOutsiders({ open_operations, open_schemas }: DatabaseFacts): Finding[] {
  const open = [...open_schemas.map((name) => `the schema ${name}`), ...open_operations];
  if (open.length === 0) return [ok("privileges", "anon and authenticated may use nothing.")];
  return [fault(
    "privileges",
    `Everybody with the publishable key may use ${listed(open)}.`,
    "Run supabase/schemas/privileges.sql in the SQL editor, at once.",
  )];
}

function fileOf({ version, name }: Migration): string {
  return `${version}_${name}`;
}

/** The first few, and how many more. */
function listed(names: readonly string[]): string {
  const more = names.length - 3;
  return names.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

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
import { fault, type Finding, note, ok, orOk } from "../findings/finding.ts";

/** PostgreSQL's, where PostgREST has not noticed yet that a function is gone. */
const UNDEFINED_FUNCTION = "42883";
/** There is no function of this name with these parameters. */
const NO_SUCH_FUNCTION: readonly unknown[] = ["PGRST202", UNDEFINED_FUNCTION];

/** Whether the database is the one that this checkout makes, and closed to outsiders. */
export function checkDatabase(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [whyNotInspected(facts)];
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

function checkMigrations({ migrations }: DatabaseFacts, checkout: Checkout): Finding[] {
  if (migrations === null) {
    return [note(
      "migrations",
      "Nobody recorded which migrations this database has.",
      `Apply them by the Supabase CLI, which keeps records: ${PUSH}`,
    )];
  }
  const applied = new Map(migrations.map((migration) => [migration.version, migration]));
  const missing = checkout.migrations.filter(({ version }) => !applied.has(version));
  const others = checkout.migrations.filter((migration) => isOther(migration, applied));
  const findings: Finding[] = [];
  if (missing.length > 0) {
    findings.push(fault("migrations", `Not applied yet: ${listed(missing.map(fileOf))}.`, PUSH));
  }
  if (others.length > 0) {
    findings.push(fault(
      "migrations",
      `Applied from another checkout, with another text: ${listed(others.map(fileOf))}.`,
      "Run the doctor of the checkout that was deployed; a database from before the first release is carried over, as docs/deployment.md says.",
    ));
  }
  // A project in use has migrations of its own, and those that are newer than this checkout's look
  // the same: what they did to our functions shows in the other checks.
  const own = checkout.migrations.length;
  return orOk(findings, "migrations", `All ${own} are applied, as this checkout has them.`);
}

/** Whether a migration was applied under this version with another name or text. */
function isOther(migration: Migration, applied: ReadonlyMap<string, Migration>): boolean {
  const record = applied.get(migration.version);
  if (record === undefined) return false;
  return record.name !== migration.name ||
    record.digest !== null && record.digest !== migration.digest;
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

/** The functions trust whoever calls them to say who the caller is. */
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

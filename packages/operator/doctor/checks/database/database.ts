import { ENTER_SECRET_KEY, grantToService, LOCALLY, PUSH } from "../../findings/remedies.ts";
import {
  isSameMigration,
  type MigrationRecord,
} from "../../../../local/postgres/migration_files.ts";
import type { Checkout } from "../../facts/checkout.ts";
import {
  type DatabaseFacts,
  type Facts,
  inspected,
  mayNotInspect,
  type OpenObject,
  refusesSecretKey,
} from "../../facts/facts.ts";
import { fieldOf, wordsOf } from "../../facts/reply.ts";
import { fault, type Finding, note, ok, orOk, sql } from "../../findings/finding.ts";
import { reportShared } from "./shared_tables.ts";
import { checkStructure } from "./structure.ts";

/**
 * PostgreSQL's code, which a call gets while PostgREST still believes that a dropped function
 * exists.
 */
const UNDEFINED_FUNCTION = "42883";
/** The codes for: no function has this name and these parameters. */
const NO_SUCH_FUNCTION: readonly unknown[] = ["PGRST202", UNDEFINED_FUNCTION];

/** Whether the database is the one that this checkout makes, and closed to outsiders. */
export function checkDatabase(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [whyNotInspected(facts)];
  const foreign = findForeignMigrations(database, facts.checkout);
  if (foreign.length > 0) {
    // Missing functions then belong to the other schema: making them one by one would not help.
    return [reportForeignMigrations(foreign), ...checkOutsiders(database, facts.checkout)];
  }
  const migrations = checkMigrations(database, facts.checkout);
  const lacksMigrations = migrations.some(({ level }) => level === "fault");
  return [
    ...migrations,
    // If a migration is missing, what it would make is missing too: do not report that as well.
    ...(lacksMigrations ? [] : checkStructure(facts)),
    ...checkOperations(database),
    ...checkOutsiders(database, facts.checkout),
  ];
}

function whyNotInspected(facts: Facts): Finding {
  const { inspection, url } = facts;
  if (facts.usesPublishableKey) {
    return fault(
      "secret key",
      "SUPABASE_SECRET_KEY is a publishable key: only the secret key may look at the database.",
      `Enter the secret key of the project at ${url}: Settings, API Keys.`,
      ENTER_SECRET_KEY,
    );
  }
  if (NO_SUCH_FUNCTION.includes(fieldOf(inspection, "code"))) return whyUnknown(facts);
  if (mayNotInspect(facts)) return notCallable(["agent_api_inspect_deployment"]);
  if (refusesSecretKey(facts)) {
    return fault(
      "secret key",
      `The project does not take SUPABASE_SECRET_KEY (${wordsOf(inspection)}).`,
      `Set it to the secret key of the project at ${url}: Settings, API Keys.`,
      ENTER_SECRET_KEY,
    );
  }
  return fault(
    "database",
    `The database cannot be asked: ${wordsOf(inspection)}.`,
    `See whether the project at ${url} is running, and not paused.`,
  );
}

/** No migration was applied yet, or somebody dropped the function that reports on the database. */
function whyUnknown({ checkout, functions }: Facts): Finding {
  const definition = checkout.functions.find(({ name }) =>
    name === "public.agent_api_inspect_deployment"
  );
  if (definition !== undefined && functions.some(({ openHealth }) => openHealth.status === 200)) {
    return fault(
      "schema",
      "The SQL function public.agent_api_inspect_deployment is missing.",
      "Make it again.",
      sql(definition.statement),
    );
  }
  return fault(
    "migrations",
    "The database does not know agent_api_inspect_deployment: the newest migrations were not applied.",
    "Apply them.",
    PUSH,
  );
}

/**
 * The migrations of this checkout whose version was applied with another name or text. Migrations
 * that only the database has are not reported: they may be the project's own, or newer than this
 * checkout. What they did to our functions shows in the other checks.
 */
function findForeignMigrations(
  { migrations }: DatabaseFacts,
  checkout: Checkout,
): MigrationRecord[] {
  const applied = new Map(migrations?.map((migration) => [migration.version, migration]));
  return checkout.migrations.filter((migration) => {
    const record = applied.get(migration.version);
    return record !== undefined && !isSameMigration(record, migration);
  });
}

function reportForeignMigrations(foreign: readonly MigrationRecord[]): Finding {
  return fault(
    "migrations",
    `The database was made by other migrations: ${
      listed(foreign.map(fileOf))
    } was applied with another name or text.`,
    "No migration upgrades that database to this checkout. Keep the checkout that was deployed and run its doctor, or deploy this one to a new project (the local stack: deno task reset)",
  );
}

function checkMigrations({ migrations }: DatabaseFacts, checkout: Checkout): Finding[] {
  if (migrations === null) {
    return [note(
      "migrations",
      "Nobody recorded which migrations this database has.",
      "If the Supabase CLI applied them, let service_role read its records. Otherwise apply them by the CLI, which keeps records.",
      sql(
        "grant usage on schema supabase_migrations to service_role;\n" +
          "grant select on supabase_migrations.schema_migrations to service_role;",
      ),
    )];
  }
  const applied = new Set(migrations.map(({ version }) => version));
  const missing = checkout.migrations.filter(({ version }) => !applied.has(version));
  if (missing.length > 0) {
    return [
      fault(
        "migrations",
        `The schema is older than this checkout. Not applied yet: ${listed(missing.map(fileOf))}.`,
        `Apply the migrations, then deploy the functions. ${LOCALLY}`,
        PUSH,
      ),
    ];
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

function checkOperations({ missing_operations, functions }: DatabaseFacts): Finding[] {
  // Missing functions are reported by another check.
  const uncallable = missing_operations.filter((name) => functions[`public.${name}`] !== undefined);
  if (uncallable.length > 0) return [notCallable(uncallable)];
  if (missing_operations.length > 0) return [];
  return [ok("SQL functions", "service_role can call every SQL function.")];
}

function notCallable(operations: readonly string[]): Finding {
  return fault(
    "SQL functions",
    `service_role cannot call ${listed(operations)}: the privilege is missing.`,
    "Grant it.",
    grantToService(operations),
  );
}

/**
 * SQL functions trust what they are told about the caller, so only Edge Functions may call them.
 */
function checkOutsiders(database: DatabaseFacts, { schemas }: Checkout): Finding[] {
  return orOk(
    [
      ...checkOwn(database),
      ...database.open_objects.map(reportOpen),
      ...database.shared_tables.map(reportShared),
    ],
    "privileges",
    `anon and authenticated may use nothing of ours (the schemas ${
      schemas.join(", ")
    }; in public, the functions agent_api_…), nor any view or function of others that names our tables. No publication or inheritance shares these.`,
  );
}

function reportOpen({ kind, object, statement }: OpenObject): Finding {
  const [message, remedy] = {
    view: [
      `Everybody with the publishable key may read our tables through the view ${object}.`,
      "Take the privileges away, at once. If your app needs it, let it run as its caller (security_invoker) over tables of your own.",
    ],
    function: [
      `Everybody with the publishable key may call ${object}, which runs as its owner and uses our tables.`,
      "Take the privilege away, at once. If your app needs it, check in it who calls.",
    ],
    own: [
      `Tables or functions in the schema ${object} are open to anon or authenticated, as after a restore by pg_restore.`,
      "Take the privileges away.",
    ],
    member: [
      `The role ${object} is a member of service_role, so it may read and change everything here.`,
      "Take that away, unless you gave it on purpose.",
    ],
  }[kind] as [string, string];
  return fault("privileges", message, remedy, sql(statement));
}

function checkOwn({ open_operations, open_schemas }: DatabaseFacts): Finding[] {
  const open = [...open_schemas.map((name) => `the schema ${name}`), ...open_operations];
  if (open.length === 0) return [];
  return [fault(
    "privileges",
    `Everybody with the publishable key may use ${listed(open)}.`,
    "Take the privileges away, at once.",
    sql([
      ...open_schemas.map((name) =>
        `revoke all on schema ${name} from public, anon, authenticated;`
      ),
      ...(open_operations.length === 0 ? [] : [grantToService(open_operations).text]),
    ].join("\n")),
  )];
}

function fileOf({ version, name }: MigrationRecord): string {
  return `${version}_${name}`;
}

/** The first three names, and how many more there are. */
function listed(names: readonly string[]): string {
  const more = names.length - 3;
  return names.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

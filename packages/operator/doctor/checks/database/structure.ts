import type { SchemaFunction } from "../../facts/schema_functions.ts";
import { type DatabaseFacts, type Facts, inspected, type StrangePart } from "../../facts/facts.ts";
import { fault, type Finding, note, orOk, sql } from "../../findings/finding.ts";
import { DEPLOY, PUSH } from "../../findings/remedies.ts";

/** If more functions than this differ, another release of the schema is the likelier reason. */
const MOST_FUNCTIONS = 5;
const REMAKE_COLUMN =
  "PostgreSQL cannot give the column its expression back. Make the column again; its indexes and constraints go with it, so run the doctor again afterwards. If the statement says that other objects depend on the column, nothing was changed: restore a backup, by docs/backup.md.";

/**
 * Whether everything that the migrations made still exists, and does what this checkout's would.
 */
export function checkStructure(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const missing = database.missing_structure.map(({ part, statement, is_changed }) =>
    fault(
      "structure",
      `${is_changed ? "Changed" : "Missing"} since the last migration: ${part}.`,
      !is_changed && part.startsWith("expression of ") ? REMAKE_COLUMN : "Make it again.",
      sql(statement),
    )
  );
  return [
    ...orOk(
      [...missing, ...database.strange_structure.map(reportStrange)],
      "structure",
      "Every constraint, default, expression, index and trigger of the migrations is there and unchanged, and no other trigger.",
    ),
    ...checkFunctions(facts.checkout.functions, database),
  ];
}

function reportStrange({ kind, part, statement }: StrangePart): Finding {
  return kind === "behind"
    ? fault(
      "structure",
      `The ${part} is behind its rows: every change fails.`,
      "Set it to the last row.",
      sql(statement),
    )
    : fault(
      "structure",
      `No migration made the ${part}: it may stop our writes, or swallow rows silently.`,
      "Drop it. If your app needs it, let it act on a table of your own.",
      sql(statement),
    );
}

function checkFunctions(
  expected: readonly SchemaFunction[],
  { functions: present, definers }: DatabaseFacts,
): Finding[] {
  const known = new Set(expected.map(({ name }) => name));
  const unknown = Object.keys(present).filter((name) => !known.has(name)).sort();
  const missing = expected.filter(({ name }) => present[name] === undefined);
  const changed = expected.filter(({ name, digest }) =>
    digest !== null && present[name] !== undefined && present[name] !== digest
  );
  if (unknown.length > 0) return [reportNewer(unknown)];
  if (missing.length + changed.length > MOST_FUNCTIONS) {
    return [fault(
      "schema",
      `The schema is older than this checkout, or was edited: ${
        listed([...missing, ...changed])
      } are missing or differ.`,
      "Apply the migrations. If there is nothing to apply, run the doctor of the checkout that was deployed.",
      PUSH,
    )];
  }
  return orOk(
    [
      ...missing.map((found) => report(found, "is missing")),
      ...changed.map((found) => report(found, "is not what this checkout has")),
      ...expected.filter((found) => present[found.name] !== undefined).flatMap((found) =>
        checkDefiner(found, definers)
      ),
    ],
    "schema",
    "The database's functions are those of this checkout.",
  );
}

/** Whether a function runs as its caller, or as its owner, as this checkout says. */
function checkDefiner(
  { name, isDefiner }: SchemaFunction,
  definers: DatabaseFacts["definers"],
): Finding[] {
  if (definers === null || isDefiner === (definers[name] !== undefined)) return [];
  return [fault(
    "schema",
    `The SQL function ${name} runs as its ${isDefiner ? "caller" : "owner"}.`,
    "Change it back.",
    sql(
      `alter function ${definers[name] ?? name} security ${isDefiner ? "definer" : "invoker"};`,
    ),
  )];
}

/**
 * The functions were rolled back, or this checkout is behind. Both work: the newer schema removed
 * nothing.
 */
function reportNewer(unknown: readonly string[]): Finding {
  return note(
    "schema",
    `The schema is newer than this checkout: it also has ${
      listed(unknown.map((name) => ({ name })))
    }.`,
    "Deploy the functions of the release that this schema belongs to. After a rollback of the functions this is expected, until you deploy again. From that release's checkout:",
    DEPLOY,
  );
}

function report({ name, statement }: SchemaFunction, what: string): Finding {
  return fault("schema", `The SQL function ${name} ${what}.`, "Make it again.", sql(statement));
}

function listed(functions: readonly { readonly name: string }[]): string {
  const names = functions.map(({ name }) => name);
  const more = names.length - 3;
  return names.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

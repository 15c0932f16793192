import { type DatabaseFacts, type Facts, inspected, type Policy } from "../facts/facts.ts";
import { fault, type Finding, orOk, sql } from "../findings/finding.ts";
import { excludesBucket, type NamedBucket } from "../reading/excludes_bucket.ts";

const BUCKET = "agent-artifacts";
/** Storage's tables, and their columns that name a bucket. */
const STORAGE: Readonly<Record<string, readonly string[]>> = {
  "storage.objects": ["bucket_id"],
  "storage.buckets": ["id", "name"],
};

/**
 * Whether row level security lets anyone but service_role reach the bucket or our tables. The
 * project may have had policies for all buckets before this bucket was made.
 */
export function checkPolicies(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  return orOk(
    [
      ...database.unprotected_storage.map(reportUnprotected),
      ...database.policies.flatMap((policy) => findLeak(policy, database)),
    ],
    "policies",
    "No policy lets anyone but service_role reach the bucket.",
  );
}

function reportUnprotected(table: string): Finding {
  return fault(
    "policies",
    `Row level security of ${table} is off: everybody with the publishable key can reach every bucket.`,
    "Turn it on. If it says that you must be the owner: on a hosted project, ask Supabase's support; on your own server, run it as supabase_storage_admin.",
    sql(`alter table ${table} enable row level security;`),
  );
}

function findLeak(policy: Policy, { policies }: DatabaseFacts): Finding[] {
  const columns = STORAGE[policy.table];
  const identifier = quoted(policy.name);
  if (columns === undefined) {
    return [fault(
      "policies",
      `The policy ${identifier} on ${policy.table} is not ours: only service_role may use this table.`,
      "Drop it.",
      sql(`drop policy ${identifier} on ${policy.table};`),
    )];
  }
  const named = { bucket: BUCKET, columns };
  if (!policy.is_permissive || !isForOutsiders(policy) || excludes(policy, named)) return [];
  if (policies.some((other) => forbids(other, policy, named))) return [];
  const who = policy.is_for_everybody ? "everybody" : policy.roles.join(", ");
  return [fault(
    "policies",
    `The policy ${identifier} on ${policy.table} lets ${who} ${policy.command} in the bucket ${BUCKET}.`,
    "Limit it to the other buckets. If it says that you must be the owner, add the condition in the dashboard: Storage, Policies.",
    sql(narrowed(policy, columns[0]!)),
  )];
}

function isForOutsiders({ is_for_everybody, roles }: Policy): boolean {
  return is_for_everybody || roles.length > 0;
}

/** An update must exclude the bucket both in the row it reads and in the row it writes. */
function excludes({ command, using, check }: Policy, named: NamedBucket): boolean {
  const keepsFromReading = command === "insert" || excludesBucket(using, named);
  const keepsFromWriting = command === "select" || command === "delete" ||
    excludesBucket(check ?? using, named);
  return keepsFromReading && keepsFromWriting;
}

/** Whether a restrictive policy forbids everybody what a permissive policy would allow. */
function forbids(other: Policy, policy: Policy, named: NamedBucket): boolean {
  if (other.is_permissive || !other.is_for_everybody || other.table !== policy.table) return false;
  if (other.command !== "all" && other.command !== policy.command) return false;
  return excludes({ ...other, command: policy.command }, named);
}

/** The policy with one more condition beside its own. */
function narrowed({ table, name, using, check }: Policy, column: string): string {
  const and = (expression: string) => `(${column} <> '${BUCKET}' and ${expression})`;
  return [
    `alter policy ${quoted(name)} on ${table}`,
    ...(using === null ? [] : [`  using ${and(using)}`]),
    ...(check === null ? [] : [`  with check ${and(check)}`]),
  ].join("\n") + ";";
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

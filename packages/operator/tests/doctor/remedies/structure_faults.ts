import type { MendedFault } from "./mended_fault.ts";

function missing(fault: string, put: string, part: string): MendedFault {
  return {
    fault,
    put,
    check: "structure",
    message: new RegExp(`^Missing since the last migration: ${part}\\.$`),
  };
}

function changed(fault: string, put: string, part: string): MendedFault {
  return {
    ...missing(fault, put, part),
    message: new RegExp(`^Changed since the last migration: ${part}\\.$`),
  };
}

/** Parts of the migrations that are missing, or not as the migrations made them. */
export const STRUCTURE_FAULTS: readonly MendedFault[] = [
  missing(
    "row level security of the agent keys is off",
    "alter table agents.keys disable row level security",
    "row level security of agents.keys",
  ),
  missing(
    "row level security of the PSKs is off",
    "alter table mesh.pairs disable row level security",
    "row level security of mesh.pairs",
  ),
  missing(
    "a trigger is disabled",
    "alter table artifacts.artifacts disable trigger updated_artifacts_count",
    "enabled triggers of artifacts.artifacts",
  ),
  missing(
    "all triggers of a table are disabled",
    "alter table agents.events disable trigger user",
    "enabled triggers of agents.events",
  ),
  missing(
    "a trigger was dropped",
    "drop trigger deleted_grants_count on artifacts.grants",
    "trigger deleted_grants_count of artifacts.grants",
  ),
  missing(
    "a unique index was dropped",
    "drop index artifacts.one_committed_artifact_per_key",
    "index artifacts.one_committed_artifact_per_key",
  ),
  missing(
    "a unique constraint was dropped",
    "alter table mesh.peers drop constraint pubkey_is_unique",
    "constraint pubkey_is_unique of mesh.peers",
  ),
  missing(
    "a primary key was dropped",
    "alter table agents.usage drop constraint usage_pkey",
    "constraint usage_pkey of agents.usage",
  ),
  missing(
    "a foreign key was dropped",
    "alter table agents.key_uses drop constraint a_use_is_of_a_key",
    "constraint a_use_is_of_a_key of agents.key_uses",
  ),
  missing(
    "a check was dropped",
    "alter table agents.refusals drop constraint hour_is_a_full_hour",
    "constraint hour_is_a_full_hour of agents.refusals",
  ),
  missing(
    "an index that reads need was dropped",
    "drop index agents.usage_by_requests",
    "index agents.usage_by_requests",
  ),
  // As `create index concurrently` and `reindex concurrently` leave one when they are cancelled.
  missing(
    "an index that reads need is not valid",
    `update pg_index set indisvalid = false
    where indexrelid = 'agents.usage_by_requests'::regclass`,
    "index agents.usage_by_requests",
  ),
  missing(
    "a unique index is not valid",
    `update pg_index set indisvalid = false
    where indexrelid = 'artifacts.one_committed_artifact_per_key'::regclass`,
    "index artifacts.one_committed_artifact_per_key",
  ),
  missing(
    "a constraint was made again without being validated",
    `alter table agents.refusals drop constraint hour_is_a_full_hour;
    alter table agents.refusals add constraint hour_is_a_full_hour
      check (hour = date_trunc('hour', hour, 'UTC')) not valid`,
    "constraint hour_is_a_full_hour of agents.refusals",
  ),
  missing(
    "a not-null was dropped",
    "alter table agents.events alter column action drop not null",
    "not null of agents.events.action",
  ),
  missing(
    "a default was dropped",
    "alter table agents.events alter column occurred_at drop default",
    "default of agents.events.occurred_at",
  ),
  changed(
    "a default was changed",
    "alter table agents.events alter column occurred_at set default 'epoch'",
    "default of agents.events.occurred_at",
  ),
  changed(
    "the expression of a generated column was changed",
    "alter table artifacts.grants alter column live_until set expression as (expires_at)",
    "expression of artifacts.grants.live_until",
  ),
  changed(
    "a check was replaced by one that lets everything through",
    `alter table agents.refusals drop constraint hour_is_a_full_hour;
    alter table agents.refusals add constraint hour_is_a_full_hour check (true)`,
    "constraint hour_is_a_full_hour of agents.refusals",
  ),
  changed(
    "a foreign key was made again without its action",
    `alter table agents.key_uses drop constraint a_use_is_of_a_key;
    alter table agents.key_uses add constraint a_use_is_of_a_key
      foreign key (key_id) references agents.keys on delete no action`,
    "constraint a_use_is_of_a_key of agents.key_uses",
  ),
  changed(
    "a unique index was replaced by another one",
    `drop index artifacts.one_committed_artifact_per_key;
    create index one_committed_artifact_per_key on artifacts.artifacts (agent_id, key)`,
    "index artifacts.one_committed_artifact_per_key",
  ),
  changed(
    "a trigger was replaced by one that never runs",
    `create or replace trigger deleted_grants_count after delete on artifacts.grants
      referencing old table as old_rows
      for each statement when (false) execute function artifacts.keep_totals_of_grants()`,
    "trigger deleted_grants_count of artifacts.grants",
  ),
];

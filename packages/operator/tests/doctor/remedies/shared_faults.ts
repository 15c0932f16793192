import type { MendedFault } from "./mended_fault.ts";

/** What carries rows past the privileges on our tables. */
export const SHARED_FAULTS: readonly MendedFault[] = [
  {
    fault: "a table of the app inherits from the agent keys, so whoever writes there makes keys",
    put: "set role postgres; create table public.more () inherits (agents.keys); reset role",
    check: "privileges",
    message: /^The rows of the table public\.more count as rows of agents\.keys, /,
    cleanUp: "drop table public.more",
  },
  {
    fault: "a table of ours inherits from one of the app, whose readers see our rows",
    put: `set role postgres;
      create table public.named (artifact_id text collate "C" not null);
      alter table artifacts.grants inherit public.named;
      reset role`,
    check: "privileges",
    message: /^The rows of artifacts\.grants count as rows of the table public\.named, /,
    cleanUp: "drop table public.named",
  },
  {
    fault: "a publication of two tables of ours and one of the app",
    put: `set role postgres;
      create table public.runs (id bigint primary key);
      create publication "app's runs" for table public.runs, agents.events, agents.keys;
      reset role`,
    check: "privileges",
    message: /^The publication app's runs gives .*: agents\.keys, agents\.events\.$/,
    cleanUp: `drop publication "app's runs"; drop table public.runs`,
  },
  {
    fault: "a publication of a schema of ours",
    put: "create publication app for tables in schema public, mesh",
    check: "privileges",
    message: /^The publication app gives .*: mesh\.$/,
    cleanUp: "drop publication app",
  },
  {
    fault: "a publication of all tables",
    put: `create publication app for all tables
      with (publish = 'insert, delete', publish_via_partition_root = true)`,
    check: "privileges",
    message: /^The publication app gives .*: all tables\.$/,
    cleanUp: "drop publication app",
  },
];

/**
 * Every table of ours: what ends its rows, and which of its columns can name an agent. A new table
 * or column needs an entry; the tests of this folder say which one is missing.
 */
import { AGENTS } from "./entries/agents.ts";
import { ARTIFACTS } from "./entries/artifacts.ts";
import { ENROLMENT } from "./entries/enrolment.ts";
import { LOG } from "./entries/log.ts";
import { MESH } from "./entries/mesh.ts";
import { WEBHOOKS } from "./entries/webhooks.ts";
import type { Table } from "./table.ts";

const FILES: Readonly<Record<string, Readonly<Record<string, Table>>>> = {
  "agents.ts": AGENTS,
  "artifacts.ts": ARTIFACTS,
  "enrolment.ts": ENROLMENT,
  "log.ts": LOG,
  "mesh.ts": MESH,
  "webhooks.ts": WEBHOOKS,
};

export const TABLES: Readonly<Record<string, Table>> = Object.assign({}, ...Object.values(FILES));

/** The file in which a table's entry is, or belongs. */
export function fileOf(table: string): string {
  const [file] = Object.entries(FILES).find(([, tables]) => table in tables) ??
    [`${table.split(".")[0]}.ts`];
  return `tests/database/tables/entries/${file}`;
}

export function entryOf(table: string): Table {
  const entry = TABLES[table];
  if (entry === undefined) throw new Error(`${table} has no entry: add it in ${fileOf(table)}`);
  return entry;
}

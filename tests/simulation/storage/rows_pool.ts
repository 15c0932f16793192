// @ts-types="@types/pg"
import pg from "pg";
import type { RowsClient, RowsPool } from "../../../packages/local/storage/object_rows.ts";
import { type Row, type SimulatedDatabase, SqlError } from "../world/database.ts";

/** The columns of Storage's tables that are not text, and what pg makes of them. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  created_at: (text) => new Date(text),
  updated_at: (text) => new Date(text),
  last_accessed_at: (text) => new Date(text),
  metadata: JSON.parse,
  user_metadata: JSON.parse,
  is_delete_marker: (text) => text === "t",
  public: (text) => text === "t",
};

/**
 * The simulated database as the pool of `local/storage/object_rows.ts`. A transaction is one step:
 * nobody else's query may come between its queries.
 */
export function rowsPool(database: SimulatedDatabase): RowsPool {
  let isTaken = false;

  function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
    try {
      const isReading = /^\s*select\b/i.test(text);
      const answered = isReading
        ? database.read(text, values.map(asText))
        : database.query(text, values.map(asText));
      const rows = answered.map(parsed) as Row[];
      return Promise.resolve({ rows });
    } catch (error) {
      return Promise.reject(error instanceof SqlError ? databaseError(error) : error);
    }
  }

  const client: RowsClient = {
    query,
    release(isBroken) {
      isTaken = false;
      if (isBroken) database.run("rollback");
    },
  };
  return {
    query,
    connect() {
      if (isTaken) throw new Error("Two transactions of Storage at once.");
      isTaken = true;
      return Promise.resolve(client);
    },
    end: () => Promise.resolve(),
  };
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `{${value.map((item) => JSON.stringify(item)).join(",")}}`;
  return String(value);
}

function parsed(row: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, text]) => [
      column,
      text === null ? null : PARSERS[column]?.(text) ?? text,
    ]),
  );
}

function databaseError({ message, code }: SqlError): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, 0, "error"), { code });
}

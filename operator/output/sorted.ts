import type { RowsOptions } from "../../clients/typescript/src/cli/terminal/output.ts";
import { UsageError } from "../../clients/typescript/src/cli/command/usage_error.ts";

export interface Columns<Row> extends Pick<RowsOptions<Row>, "heads" | "cells"> {
  /** What to sort a column by, if its cells cannot be compared: amounts in words, for example. */
  readonly by?: Readonly<Record<string, (row: Row) => number | string>>;
}

export interface Sorting<Row> {
  readonly by: (row: Row) => number | string;
}

/** A column's name as a person types it: `LAST USED` is also `last-used`. */
function typed(head: string): string {
  return head.toLowerCase().replaceAll(/[ _]/g, "-");
}

/** Throws UsageError. */
export function sortingOf<Row>(
  name: string,
  { heads, cells, by = {} }: Columns<Row>,
): Sorting<Row> {
  const column = heads.findIndex((head) => typed(head) === typed(name));
  if (column === -1) {
    throw new UsageError(`--sort takes a column: ${heads.map(typed).join(", ")}.`);
  }
  return { by: by[heads[column]!] ?? ((row) => valueOf(cells(row)[column]!)) };
}

function valueOf(cell: string): number | string {
  return /^-?\d+(?: of \d+)?$/.test(cell) ? Number.parseInt(cell) : cell;
}

/** An instant such as `2026-01-31T09:30:00Z`, or a day. */
const TIME = /^\d{4}-\d\d-\d\d(?:T.*Z)?$/;

/**
 * Sorts numbers and times with the greatest first, and words alphabetically. Equal rows keep their
 * order.
 */
export async function* sorted<Row>(
  rows: AsyncIterable<Row>,
  { by, limit }: Sorting<Row> & { readonly limit: number },
): AsyncGenerator<Row> {
  const valued = await Array.fromAsync(rows, (row) => ({ row, value: by(row) }));
  valued.sort((one, two) => compare(one.value, two.value));
  for (const { row } of valued.slice(0, limit)) yield row;
}

function compare(one: number | string, two: number | string): number {
  if (typeof one === "number" && typeof two === "number") return two - one;
  const [first, second] = [String(one), String(two)];
  const order = first < second ? -1 : first > second ? 1 : 0;
  // A cell without a time comes last.
  return TIME.test(first) || TIME.test(second) ? -order : order;
}

import type { RowsOptions } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";

export interface Columns<Row> extends Pick<RowsOptions<Row>, "heads" | "cells"> {
  /** What to sort a column by, if its cells cannot be compared: amounts in words, for example. */
  readonly by?: Readonly<Record<string, (row: Row) => number | string>>;
}

export interface Sorting<Row> {
  readonly column: string;
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
  const head = heads[column]!;
  return { column: typed(head), by: by[head] ?? ((row) => valueOf(cells(row)[column]!)) };
}

function valueOf(cell: string): number | string {
  return /^-?\d+(?: of \d+)?$/.test(cell) ? Number.parseInt(cell) : cell;
}

/** An instant such as `2026-01-31T09:30:00Z`, or a day. */
const TIME = /^\d{4}-\d\d-\d\d(?:T.*Z)?$/;

/** How many rows beyond `limit` are collected before they are sorted and cut to `limit`. */
const SURPLUS = 10_000;

/**
 * Sorts all rows, and yields the first `limit`. Numbers and times: the greatest first. Words:
 * alphabetically. Equal rows keep their order. Standard error says if there are more rows.
 */
export async function* sorted<Row>(
  rows: AsyncIterable<Row>,
  { column, by, limit }: Sorting<Row> & { readonly limit: number },
): AsyncGenerator<Row> {
  const first: { readonly row: Row; readonly value: number | string }[] = [];
  const sort = () => {
    first.sort((one, two) => compare(one.value, two.value));
    first.splice(limit);
  };
  let count = 0;
  for await (const row of rows) {
    count++;
    first.push({ row, value: by(row) });
    if (first.length >= limit + SURPLUS) sort();
  }
  sort();
  for (const { row } of first) yield row;
  if (count > limit) {
    note(`These are the first ${limit} of ${count}, by ${column}. For more: --limit, or --all.`);
  }
}

function compare(one: number | string, two: number | string): number {
  if (typeof one === "number" && typeof two === "number") return two - one;
  const [first, second] = [String(one), String(two)];
  const order = first < second ? -1 : first > second ? 1 : 0;
  // A cell without a time comes last.
  return TIME.test(first) || TIME.test(second) ? -order : order;
}

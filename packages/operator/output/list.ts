import { note, type Output } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { pagesOf, rowsOf } from "../pages.ts";
import { type Columns, sorted, sortingOf } from "./sorted.ts";

/** The options of every task that lists something. */
export const LIST_OPTIONS = {
  limit: { type: "string", value: "N", help: "how many rows at most; default: 100" },
  after: {
    type: "string",
    value: "PLACE",
    help: "continue after an earlier call, with the value that it printed",
  },
  all: { type: "boolean", help: "everything, page by page" },
  sort: {
    type: "string",
    value: "COLUMN",
    help: "by this column, the most or newest first; reads everything, shows --limit rows",
  },
} as const;

export interface ListValues {
  readonly limit?: string | undefined;
  readonly after?: string | undefined;
  readonly all?: boolean | undefined;
  readonly sort?: string | undefined;
}

/**
 * Prints what an SQL function lists, as the options say. Notes on standard error how to go on.
 * Throws CommandError.
 */
export async function showList<Row>(
  output: Output,
  { functionName, parameters = {}, values }: {
    readonly functionName: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly values: ListValues;
  },
  columns: Columns<Row>,
): Promise<void> {
  if (values.sort !== undefined) {
    const limit = values.all === true ? Infinity : limitOf(values.limit);
    const sorting = sortingOf(values.sort, columns);
    const all = rowsOf<Row>(functionName, { parameters, after: values.after ?? "" });
    return await output.rows(sorted(all, { ...sorting, limit }), columns);
  }
  let next: string | null = null;
  async function* rows() {
    const pages = pagesOf<Row>(functionName, {
      parameters,
      after: values.after ?? "",
      limit: values.all === true ? Infinity : limitOf(values.limit),
    });
    for await (const page of pages) {
      yield* page.found;
      next = page.next;
    }
  }
  await output.rows(rows(), { ...columns, isEndless: values.all === true });
  if (next !== null) note(`There may be more: --after '${next}', or --all.`);
}

/** Throws CommandError. */
export function limitOf(text = "100"): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text)) throw new CommandError("--limit takes a number of rows.");
  return Number(text);
}

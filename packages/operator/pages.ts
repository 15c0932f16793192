import { callAsOperator } from "./operator_call.ts";

/** What an SQL function that lists something returns. */
export interface Page<Row> {
  readonly found: readonly Row[];
  /** The `after` of the next page; null on the last one. */
  readonly next: string | null;
}

/** The most rows that one call is asked for. */
const PAGE_SIZE = 1000;

export interface PagesOptions {
  /** Further parameters of the SQL function. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Where the first page begins. Default: at the beginning. */
  readonly after?: string;
  /** How many rows are wanted at most. Default: all. */
  readonly limit?: number;
}

/**
 * What an SQL function lists, page by page, up to the limit. A short page does not end the list.
 * Throws CommandError.
 */
export async function* pagesOf<Row>(
  functionName: string,
  { parameters = {}, after = "", limit = Infinity }: PagesOptions = {},
): AsyncGenerator<Page<Row>> {
  let wanted = limit;
  for (let position: string | null = after; position !== null && wanted > 0;) {
    const page = await callAsOperator(functionName, {
      ...parameters,
      max_entries: Math.min(wanted, PAGE_SIZE),
      after: position,
    }) as Page<Row>;
    yield page;
    wanted -= page.found.length;
    position = page.next;
  }
}

/** What an SQL function lists that has only one page. Throws CommandError. */
export async function firstOf<Row>(
  functionName: string,
  parameters: Readonly<Record<string, unknown>> & { readonly max_entries: number },
): Promise<readonly Row[]> {
  const { found } = await callAsOperator(functionName, parameters) as Pick<Page<Row>, "found">;
  return found;
}

/** The rows of all pages. Throws CommandError. */
export async function* rowsOf<Row>(
  functionName: string,
  options: PagesOptions = {},
): AsyncGenerator<Row> {
  for await (const { found } of pagesOf<Row>(functionName, options)) yield* found;
}

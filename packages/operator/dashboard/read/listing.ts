import { type PagesOptions, rowsOf } from "../../pages.ts";

/** What one page of a list shows. */
export const ROWS_PER_PAGE = 50;
/** How many rows a list reads and sorts. A prefix finds rows beyond that. */
const MOST_ROWS = 5_000;

/** What a person asks of a list; the page's URL holds it. */
export interface Question {
  /** How the names begin. */
  readonly prefix: string;
  /** The name of a filter; "": all. */
  readonly show: string;
  /** The name of an order; a leading `-` reverses it; "": by name. */
  readonly sort: string;
  /** From 1. */
  readonly page: number;
}

/** How a list can be filtered and sorted, by the names in its URL. */
export interface Kind<Row> {
  readonly filters: Readonly<
    Record<string, { readonly label: string; readonly admits: (row: Row) => boolean }>
  >;
  /** Texts are compared by their bytes; null comes last in either direction. */
  readonly orders: Readonly<Record<string, (row: Row) => string | number | null>>;
}

/** One page of a list. */
export interface Listed<Row> {
  readonly question: Question;
  readonly rows: readonly Row[];
  /** How many there are on all pages. */
  readonly total: number;
  readonly pages: number;
  /** Whether more rows have this prefix than were read. */
  readonly isCut: boolean;
}

export function questionOf(values: URLSearchParams): Question {
  const page = Number(values.get("page") ?? 1);
  return {
    prefix: (values.get("prefix") ?? "").trim(),
    show: values.get("show") ?? "",
    sort: values.get("sort") ?? "",
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** This question as a URL's query, without the `?`. */
export function queryOf(question: Question): string {
  const { prefix, show, sort, page } = question;
  const wanted = { prefix, show, sort, page: page === 1 ? "" : String(page) };
  return String(new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== "")));
}

/** The rows whose agent's name begins with `prefix`. Throws CommandError. */
export async function readNamed<Row extends { readonly agent_id: string }>(
  functionName: string,
  prefix: string,
  options: Pick<PagesOptions, "parameters"> = {},
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = [];
  for await (const row of rowsOf<Row>(functionName, { ...options, after: justBefore(prefix) })) {
    // Rows come in the order of names, so no later row has this prefix.
    if (!row.agent_id.startsWith(prefix)) break;
    if (rows.length === MOST_ROWS) return { rows, isCut: true };
    rows.push(row);
  }
  return { rows, isCut: false };
}

/** A position after every name that sorts before the names with this prefix. */
function justBefore(prefix: string): string {
  if (prefix === "") return "";
  const last = prefix.charCodeAt(prefix.length - 1);
  // No name has a character above "~".
  return `${prefix.slice(0, -1)}${String.fromCharCode(Math.max(last - 1, 1))}~`;
}

/** The requested page, or the last one if there are fewer. */
export function listed<Row extends { readonly agent_id: string }>(
  { rows, isCut }: { readonly rows: readonly Row[]; readonly isCut: boolean },
  { filters, orders }: Kind<Row>,
  asked: Question,
): Listed<Row> {
  const filter = Object.hasOwn(filters, asked.show) ? filters[asked.show] : undefined;
  const found = filter === undefined ? [...rows] : rows.filter((row) => filter.admits(row));
  const name = asked.sort.replace(/^-/, "");
  const order = Object.hasOwn(orders, name) ? orders[name] : undefined;
  if (order !== undefined) found.sort(comparison(order, asked.sort.startsWith("-") ? -1 : 1));
  const pages = Math.max(1, Math.ceil(found.length / ROWS_PER_PAGE));
  const page = Math.min(asked.page, pages);
  return {
    question: { ...asked, page },
    rows: found.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE),
    total: found.length,
    pages,
    isCut,
  };
}

/** Equal rows stay in the order of names. */
function comparison<Row>(order: (row: Row) => string | number | null, direction: 1 | -1) {
  return (one: Row, other: Row): number => {
    const [first, second] = [order(one), order(other)];
    if (first === second) return 0;
    if (first === null) return 1;
    if (second === null) return -1;
    return first < second ? -direction : direction;
  };
}

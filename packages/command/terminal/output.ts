import process from "node:process";
import { inBands } from "./bands.ts";

/** Standard output: JSON when asked for, a table for a person, tab-separated fields for a pipe. */
export class Output {
  readonly json: boolean;
  readonly #write: typeof write;

  constructor({ json }: { readonly json: boolean }, to: typeof write = write) {
    this.json = json;
    this.#write = to;
  }

  /** For a command that changes something: it goes on after the reader of the output has gone. */
  outlivingReader(): Output {
    return new Output(this, (text) =>
      write(text).catch((error) => {
        if (error?.code !== "EPIPE") throw error;
      }));
  }

  /** One value: a line of JSON, or what `text` makes of it. */
  async value<Value>(
    value: Value,
    text: (value: Value) => string,
  ): Promise<void> {
    await this.#write(this.json ? `${JSON.stringify(value)}\n` : `${text(value)}\n`);
  }

  /** Prints rows as they arrive, or as an aligned table if a person reads a finite list. */
  async rows<Row>(
    rows: AsyncIterable<Row>,
    { heads, cells, dispensable, isEndless = false }: RowsOptions<Row>,
  ): Promise<void> {
    if (!this.json && process.stdout.isTTY && !isEndless) {
      return await this.#table(rows, { heads, cells, dispensable });
    }
    for await (const row of rows) {
      await this.#write(
        this.json ? `${JSON.stringify(row)}\n` : `${cells(row).map(plain).join("\t")}\n`,
      );
    }
  }

  async #table<Row>(
    rows: AsyncIterable<Row>,
    { heads, cells, dispensable }: Omit<RowsOptions<Row>, "isEndless">,
  ): Promise<void> {
    const lines: string[][] = [];
    for await (const row of rows) {
      lines.push(
        cells(row).map((cell, column) => {
          const shown = plain(cell);
          return NAMES.includes(heads[column]!) ? shown : inMinutes(shown);
        }),
      );
    }
    await this.#write(`${table(heads, lines, widthOfTerminal(), dispensable)}\n`);
  }
}

export interface RowsOptions<Row> {
  readonly heads: readonly string[];
  readonly cells: (row: Row) => readonly string[];
  /** The head of a column that a terminal does not show if the table does not fit with it. */
  readonly dispensable?: string | undefined;
  /** Whether the rows never end, so that each is shown as it arrives. */
  readonly isEndless?: boolean;
}

/** In a terminal with fewer columns, a table that does not fit is shown as records. */
const FEWEST_COLUMNS_OF_TABLE = 60;

/** The width of a pipe, and of a terminal that does not report its own. */
const USUAL_COLUMNS = 80;

/** How wide a table may be. */
export function widthOfTerminal(): number {
  return process.stdout.columns || USUAL_COLUMNS;
}

/**
 * Formats rows below their heads. If the terminal is too narrow, a row takes several lines or, in a
 * very narrow one, becomes a record.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  dispensable?: string,
): string {
  const fits = (text: string) => text.split("\n").every((line) => line.length <= columns);
  const text = aligned([heads, ...rows]);
  if (fits(text)) return text;
  if (columns >= FEWEST_COLUMNS_OF_TABLE) {
    const left = [heads, ...rows].map((row) =>
      row.filter((_, column) => heads[column] !== dispensable)
    );
    const shorter = aligned(left);
    return fits(shorter) ? shorter : inBands([heads, ...rows], columns);
  }
  const records = rows.map((row) => aligned(row.map((cell, column) => [heads[column]!, cell])));
  return records.join("\n\n");
}

/** Cells in columns, two spaces apart. The first line has all columns. */
export function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0))
  );
  return lines
    .map((line) =>
      line.map((cell, column) => cell.padEnd(widths[column]!)).join("  ")
        .trimEnd()
    )
    .join("\n");
}

/** The heads of names, which stay as they are: one may look like a time. */
const NAMES: readonly string[] = ["AGENT", "BY", "FROM", "KEY", "TO", "WHAT"];

/** `2026-01-31T09:30:00.000Z` → `2026-01-31 09:30Z`: enough for a person, and half as wide. */
function inMinutes(cell: string): string {
  return cell.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z$/, "$1 $2Z");
}

/** Replaces control characters: names that other agents chose must not control the terminal. */
export function plain(text: string): string {
  return text.replaceAll(
    // deno-lint-ignore no-control-regex
    /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g,
    "\ufffd",
  );
}

/** Writes text for a person to standard error, so that it does not end up in a pipe. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Writes to standard output, and waits until the pipe has accepted the text. */
export function write(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => error ? reject(error) : resolve());
  });
}

const UNITS = ["B", "KiB", "MiB", "GiB"];

/** A number of bytes, such as `12.3 MiB`. */
export function inBytes(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < UNITS.length - 1) {
    [amount, unit] = [amount / 1024, unit + 1];
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`;
}

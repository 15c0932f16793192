/** Tables that are wider than the terminal: a row takes several lines, and nothing is left out. */

/** The indent of a row's second and later lines. */
const INDENT = "  ";
const GAP = "  ";
/** If the last column can be at least this wide, it is wrapped in its place. */
const FEWEST_COLUMNS_OF_TEXT = 24;

type Row = readonly string[];

/** Formats rows in lines of at most `columns`. The first row contains the heads. */
export function inBands(rows: readonly Row[], columns: number): string {
  const widths = widthsOf(rows);
  const beside = columns -
    widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const longestWord = Math.max(
    0,
    ...rows.flatMap((row) => (row.at(-1) ?? "").split(" ").map(({ length }) => length)),
  );
  if (beside >= FEWEST_COLUMNS_OF_TEXT && longestWord <= beside) {
    return rows.map((row) => lineOf(row, [...widths.slice(0, -1), beside]))
      .join("\n");
  }
  const bands = bandsOf(widths, columns);
  return rows.map((row) =>
    bands.map((band, index) =>
      lineOf(
        band.map((column) => row[column] ?? ""),
        band.map((column) => Math.min(widths[column]!, columns - INDENT.length)),
        index === 0 ? "" : INDENT,
      )
    ).filter((line) => line.trim() !== "").join("\n")
  ).join("\n");
}

/** Formats pairs of a name and a text, wrapped at `columns`. */
export function definedIn(facts: readonly Row[], columns: number): string {
  const [names = 0] = widthsOf(facts);
  return facts.map((fact) => lineOf(fact, [names, columns - names - GAP.length])).join("\n");
}

/** Groups columns into lines, with as many in each line as fit. */
function bandsOf(widths: readonly number[], columns: number): number[][] {
  const bands: number[][] = [];
  let room = 0;
  widths.forEach((natural, column) => {
    const width = Math.min(natural, columns - INDENT.length);
    if (bands.length === 0 || width + GAP.length > room) {
      room = columns - (bands.length === 0 ? 0 : INDENT.length) - width;
      bands.push([column]);
    } else {
      room -= width + GAP.length;
      bands.at(-1)!.push(column);
    }
  });
  return bands;
}

/** Puts cells side by side, each wrapped at its width. The tallest cell determines the lines. */
function lineOf(cells: Row, widths: readonly number[], indent = ""): string {
  const folded = cells.map((cell, column) => foldedTo(cell, widths[column]!));
  const height = Math.max(1, ...folded.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    indent + folded
      .map((parts, column) => (parts[line] ?? "").padEnd(widths[column]!))
      .join(GAP).trimEnd()).map((line) => line.trimEnd()).join("\n");
}

/** Wraps at spaces if possible, otherwise wherever a line is full. */
function foldedTo(text: string, width: number): string[] {
  const lines: string[] = [];
  for (let rest = text; rest !== "";) {
    if (rest.length <= width) return [...lines, rest];
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return lines;
}

function widthsOf(rows: readonly Row[]): number[] {
  return (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
}

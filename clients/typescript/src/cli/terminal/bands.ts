/** Tables that are wider than the terminal: a row takes several lines, and nothing is left out. */

/** What the later lines of a row begin with. */
const INDENT = "  ";
const GAP = "  ";
/** A last column that is this wide is folded in its place. */
const FEWEST_COLUMNS_OF_TEXT = 24;

type Row = readonly string[];

/** The first row is the heads. No line has more than so many columns. */
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

/** Names and what belongs to each, folded to so many columns. */
export function definedIn(facts: readonly Row[], columns: number): string {
  const [names = 0] = widthsOf(facts);
  return facts.map((fact) => lineOf(fact, [names, columns - names - GAP.length])).join("\n");
}

/** Columns that share a line, as many as there is room for. */
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

/** Cells beside each other, each folded to its width: as many lines as the longest takes. */
function lineOf(cells: Row, widths: readonly number[], indent = ""): string {
  const folded = cells.map((cell, column) => foldedTo(cell, widths[column]!));
  const height = Math.max(1, ...folded.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    indent + folded
      .map((parts, column) => (parts[line] ?? "").padEnd(widths[column]!))
      .join(GAP).trimEnd()).map((line) => line.trimEnd()).join("\n");
}

/** At spaces where there are any, else wherever a line is full. */
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

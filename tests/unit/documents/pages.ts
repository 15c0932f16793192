/** Reads the documentation, for tests that compare it with the code. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

export interface Page {
  /** The path below the project's folder. */
  readonly file: string;
  readonly text: string;
}

/** README.md and every page of docs/. */
export async function readPages(): Promise<Page[]> {
  const docs = (await readdir(join(PROJECT, "docs"))).filter((name) => name.endsWith(".md"));
  const files = ["README.md", ...docs.sort().map((name) => `docs/${name}`)];
  return await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(join(PROJECT, file), "utf8") })),
  );
}

/**
 * The rows of all tables whose first column has the heading `header`. Each row is its cells. The
 * backticks around the first cell are removed.
 */
export function rowsUnder(header: RegExp, pages: readonly Page[]): string[][] {
  return pages.flatMap(({ text }) => tablesOf(text))
    .filter(([heads]) => header.test(heads?.[0] ?? ""))
    .flatMap(([_heads, _delimiters, ...rows]) => rows)
    .map(([first = "", ...rest]) => [first.replace(/^`(.*)`$/, "$1"), ...rest]);
}

/** Every Markdown table of a page, as the cells of its lines. */
function tablesOf(text: string): string[][][] {
  return Array.from(
    text.matchAll(/(?:^\|.*\n)+/gm),
    ([table]) =>
      table.trimEnd().split("\n")
        .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim())),
  );
}

import { readFile } from "node:fs/promises";
import type { SourceTree } from "./lwip_source.ts";

/** The licences of the C library's functions that the linker adds. */
const OF_LIBRARY = new URL("./libc.LICENSE.txt", import.meta.url);

/**
 * The licences of what is compiled. For lwIP's files, these are in their own comments, which name
 * more holders than lwIP's COPYING.
 */
export async function licencesOf(
  { tree, files }: { readonly tree: SourceTree; readonly files: readonly string[] },
): Promise<string> {
  const headers = Array.from(tree.keys())
    .filter((file) => /^src\/include\/(?:lwip|compat)\/.*\.h$/.test(file));
  /** The copyright holders, by licence terms. */
  const holders = new Map<string, Set<string>>();
  for (const file of [...files, ...headers].toSorted()) {
    const text = new TextDecoder().decode(tree.get(file));
    for (const [comment] of text.matchAll(/\/\*[\s\S]*?\*\//g)) {
      const [, named, terms] = NOTICE.exec(withoutMarks(comment)) ?? [];
      if (named === undefined || terms === undefined) continue;
      const own = holders.get(terms.trim()) ?? new Set();
      for (const line of named.trim().split("\n")) own.add(line.trim());
      holders.set(terms.trim(), own);
    }
  }
  const notices = Array.from(
    holders,
    ([terms, named]) => `${[...named].toSorted().join("\n")}\n\n${terms}`,
  );
  return [...notices, await readFile(OF_LIBRARY, "utf8")].map((text) => `${text.trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Matches lines that name a holder, and the terms after them, up to the end of the disclaimer. */
const NOTICE = /^((?:(?:Copyright|All rights)[^\n]*\n)+)\s*(Redistribution[\s\S]*?DAMAGE\.)/im;

/** The words of a comment, without its marks and layout. */
function withoutMarks(comment: string): string {
  return comment.replaceAll("\r", "").replaceAll(/^[ /*]+|[ */]+$/gm, "").replaceAll(/ {2,}/g, " ");
}

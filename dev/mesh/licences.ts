import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where Debian states the licences of these packages. */
const OF_LIBRARIES = ["wasi-libc", "libclang-rt-14-dev-wasm32"]
  .map((name) => `/usr/share/doc/${name}/copyright`);

/**
 * The licences of what is compiled. For lwIP's files, these are in their own comments, which name
 * more holders than lwIP's COPYING. For the libraries that the linker takes parts of, Debian states
 * them.
 */
export async function licencesOf(
  { source, files }: { readonly source: string; readonly files: readonly string[] },
): Promise<string> {
  const headers = (await readdir(join(source, "src/include"), { recursive: true }))
    .filter((file) => /^(?:lwip|compat)\/.*\.h$/.test(file))
    .map((file) => `src/include/${file}`);
  /** The copyright holders, by licence terms. */
  const holders = new Map<string, Set<string>>();
  for (const file of [...files, ...headers].toSorted()) {
    const text = await readFile(join(source, file), "utf8");
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
  const libraries = await Promise.all(OF_LIBRARIES.map((file) => readFile(file, "utf8")));
  return [...notices, ...libraries].map((text) => `${text.trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Matches lines that name a holder, and the terms after them, up to the end of the disclaimer. */
const NOTICE = /^((?:(?:Copyright|All rights)[^\n]*\n)+)\s*(Redistribution[\s\S]*?DAMAGE\.)/im;

/** The words of a comment, without its marks and layout. */
function withoutMarks(comment: string): string {
  return comment.replaceAll("\r", "").replaceAll(/^[ /*]+|[ */]+$/gm, "").replaceAll(/ {2,}/g, " ");
}

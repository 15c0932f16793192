import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where Debian says what the parts of a package may be used for. */
const OF_LIBRARIES = ["wasi-libc", "libclang-rt-14-dev-wasm32"]
  .map((name) => `/usr/share/doc/${name}/copyright`);

/**
 * The licences of what is compiled: of the files of lwIP by their own comments, which name more
 * holders than its COPYING, and of the libraries that the linker takes parts of, by Debian.
 */
export async function licencesOf(
  { source, files }: { readonly source: string; readonly files: readonly string[] },
): Promise<string> {
  const headers = (await readdir(join(source, "src/include"), { recursive: true }))
    .filter((file) => /^(?:lwip|compat)\/.*\.h$/.test(file))
    .map((file) => `src/include/${file}`);
  /** The holders, by the terms. */
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

/** Lines that name a holder, and what follows them, to the end of the disclaimer. */
const NOTICE = /^((?:(?:Copyright|All rights)[^\n]*\n)+)\s*(Redistribution[\s\S]*?DAMAGE\.)/im;

/** The text of a comment, in which only the words matter. */
function withoutMarks(comment: string): string {
  return comment.replaceAll("\r", "").replaceAll(/^[ /*]+|[ */]+$/gm, "").replaceAll(/ {2,}/g, " ");
}

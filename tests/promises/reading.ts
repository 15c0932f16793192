/** Reads promises, and what they name: sentences of pages, names of tests, what CI runs. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { withTestFiles } from "../../dev/checks/units/test_files.ts";
import { PROJECT } from "../../packages/local/project.ts";
import type { KeptPromise } from "./kept_promise.ts";

export const FOLDER = "tests/promises";

/** Every promise by its file's path: the files of the folders beside this one. */
export async function readPromises(): Promise<Map<string, KeptPromise>> {
  const files = (await readdir(join(PROJECT, FOLDER), { recursive: true }))
    .filter((file) => file.includes("/") && file.endsWith(".ts"))
    .map((file) => `${FOLDER}/${file}`);
  const promises = files.toSorted().map(async (file): Promise<[string, KeptPromise]> => {
    const { default: promise } = await import(new URL(`../../${file}`, import.meta.url).href);
    return [file, promise];
  });
  return new Map(await Promise.all(promises));
}

/** A page's text as people read it: line breaks are spaces, and of a link only its text is left. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replaceAll(/\s+/g, " ");
}

/** The bullets below a heading of the second level, as they stand in the page. */
export function bulletsUnder(heading: string, page: string): string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [ofHeading = ""] = section.split(/^## /m);
  return Array.from(ofHeading.matchAll(/^- (.*(?:\n {2}.*)*)$/gm), ([, bullet]) => bullet!);
}

/**
 * The names of the tests and steps of a file, as written there. A test is a call of `Deno.test`,
 * `test.step` or a function such as `meshTest`, at the beginning of a line, so a test that is
 * commented out or ignored does not count.
 */
export function testNames(source: string): string[] {
  return Array.from(source.matchAll(TEST), (found) => found[2]!);
}

const TEST =
  /^\s*(?:await )?(?:Deno\.test|\w+\.step|test|\w+Test|testWith\w+)\(\s*(?:\{\s*name:\s*)?(["`])((?:\\.|(?!\1)[^\\])*)\1/gm;

/** The test files that a run of CI's script runs, by the tasks that it names. */
export async function testFilesOf(
  script: string,
  tasks: Readonly<Record<string, { readonly command: string }>>,
): Promise<Set<string>> {
  const commands = script.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  const names = commands.flatMap((line) =>
    Array.from(line.matchAll(/\b(?:task|begin) ([\w:]+)/g), ([, name]) => name!)
  );
  const files = names.map((name) => {
    const words = (tasks[name]?.command ?? "").split(" ");
    return withTestFiles(
      words.filter((word) => /^(?:--ignore=)?(?:clients|packages|tests)\//.test(word)),
    );
  });
  return new Set((await Promise.all(files)).flat());
}

export async function testFilesOfCi(): Promise<Set<string>> {
  const script = await readFile(join(PROJECT, ".ci/run"), "utf8");
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  return testFilesOf(script, tasks);
}

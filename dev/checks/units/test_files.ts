import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CommandError } from "../../../packages/command/command_error.ts";
import type { Unit } from "./queue.ts";

const IGNORE = "--ignore=";

/**
 * The arguments of `deno test`, with every folder replaced by the test files below it, and without
 * `--ignore`. No file is named twice. This is done here because Deno 2.9.6 does not apply
 * `--ignore` to each of several folders. Throws CommandError for a folder without test files:
 * `deno test` without a file runs all tests of the project, and some of them run this program.
 */
export async function withTestFiles(args: readonly string[]): Promise<string[]> {
  const ignored = args.filter((argument) => argument.startsWith(IGNORE))
    .flatMap((argument) => argument.slice(IGNORE.length).split(","));
  const isIgnored = (file: string) => ignored.some((folder) => file.startsWith(`${folder}/`));
  const expanded = new Set<string>();
  for (const argument of args.filter((argument) => !argument.startsWith(IGNORE))) {
    const found = await isFolder(argument)
      ? (await someTestFilesBelow(argument)).filter((file) => !isIgnored(file))
      : [argument];
    for (const file of found) expanded.add(file);
  }
  return [...expanded];
}

/** A larger unit keeps one stack busy after the others have finished. */
const FILES_OF_UNIT = 6;

/**
 * Groups test files into units: at most six files of one folder, or one per file with `each`.
 */
export function unitsOf(files: readonly string[], { each }: { readonly each: boolean }): Unit[] {
  const groups = Map.groupBy(files, (file) => each ? file : dirname(file));
  return [...groups.values()].flatMap((group) =>
    Array.from(
      { length: Math.ceil(group.length / FILES_OF_UNIT) },
      (_, index) => group.slice(index * FILES_OF_UNIT, (index + 1) * FILES_OF_UNIT),
    )
  );
}

async function testFilesBelow(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => file.endsWith("_test.ts")).map((file) => join(folder, file)).sort();
}

async function someTestFilesBelow(folder: string): Promise<string[]> {
  const files = await testFilesBelow(folder);
  if (files.length === 0) throw new CommandError(`There are no test files in ${folder}.`);
  return files;
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then((found) => found.isDirectory(), () => false);
}

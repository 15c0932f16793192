import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const IGNORE = "--ignore=";

/**
 * Arguments of `deno test` with every folder replaced by the test files below it, and without
 * `--ignore`. Deno 2.9.6 does not apply that option to each of several folders.
 */
export async function withTestFiles(args: readonly string[]): Promise<string[]> {
  const ignored = args.filter((argument) => argument.startsWith(IGNORE))
    .flatMap((argument) => argument.slice(IGNORE.length).split(","));
  const isIgnored = (file: string) => ignored.some((folder) => file.startsWith(`${folder}/`));
  const expanded: string[] = [];
  for (const argument of args.filter((argument) => !argument.startsWith(IGNORE))) {
    if (await isFolder(argument)) {
      expanded.push(...(await testFilesBelow(argument)).filter((file) => !isIgnored(file)));
    } else expanded.push(argument);
  }
  return expanded;
}

async function testFilesBelow(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => file.endsWith("_test.ts")).map((file) => join(folder, file)).sort();
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then((found) => found.isDirectory(), () => false);
}

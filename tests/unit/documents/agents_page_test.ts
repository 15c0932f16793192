import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

const MOST_LINES = 60;

/** The name of a file or of a folder at the root, in backticks. */
const PATH =
  /`((?:clients|dev|docs|examples|local|operator|packages|supabase|tests)\/[\w/.]*|[\w.]+\.(?:md|json))`/g;

const readText = (file: string) => readFile(join(PROJECT, file), "utf8");

Deno.test(`AGENTS.md → at most ${MOST_LINES} lines, and every file and folder that it names is there`, async () => {
  const page = await readText("AGENTS.md");
  assert.ok(page.trimEnd().split("\n").length <= MOST_LINES);
  const paths = Array.from(page.matchAll(PATH), ([, path]) => path!);
  assert.ok(
    paths.includes("supabase/schemas/") && paths.includes("dev/imports.json"),
    paths.join(" "),
  );
  const missing: string[] = [];
  for (const path of paths) await stat(join(PROJECT, path)).catch(() => missing.push(path));
  assert.deepEqual(missing, []);
});

Deno.test("AGENTS.md → the two commands of the README, and the limits that rooms_test.ts checks", async () => {
  const [page, readme, rooms] = await Promise.all(
    ["AGENTS.md", "README.md", "tests/unit/rooms_test.ts"].map(readText),
  );
  const [, commands = ""] = /^```sh\n(.*?)^```$/ms.exec(readme!) ?? [];
  assert.equal(commands.trimEnd().split("\n").length, 2);
  for (const command of commands.trimEnd().split("\n")) assert.ok(page!.includes(command), command);
  const limit = (name: string) => new RegExp(`^const ${name} = (\\d+);`, "m").exec(rooms!)![1];
  assert.ok(page!.includes(`A file has at most ${limit("MOST_LINES")} lines`));
  assert.ok(page!.includes(`a folder of code at most ${limit("MOST_FILES")} files`));
});

/** `deno task test` in the folder of a package. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";

async function readTasks(folder: string) {
  return JSON.parse(await readFile(join(PROJECT, folder, "deno.json"), "utf8")).tasks;
}

/** The packages whose tests need a stack, which a program of `dev/` starts. */
const ON_STACKS = [
  "clients/python",
  "packages/agent-files",
  "packages/cli",
  "packages/local",
  "packages/operator",
];

for (const folder of ON_STACKS) {
  Deno.test(`the task of ${folder} → all its tests, by the program of the project's tasks`, async () => {
    const [ofProject] = Object.values<{ command: string }>(await readTasks("."))
      .filter(({ command }) => command.split(" ").includes(folder));
    const [program] = /^deno run .*?\.ts /.exec(ofProject!.command)!;
    const tasks = await readTasks(folder);
    assert.deepEqual(tasks, { test: `cd ../.. && ${program}--stacks=2 ${folder}` });
  });
}

for (const folder of ["packages/command", "packages/agent-peer"]) {
  Deno.test(`the task of ${folder} → its tests, without those that the project's other tasks run`, async () => {
    const { test, ...others } = await readTasks(folder);
    assert.deepEqual(others, {});
    const [, ignored = ""] =
      /^deno test --allow-all --lock=\.\.\/\.\.\/dev\/deno\.lock --frozen(?: --ignore=(\S+))?$/
        .exec(test)!;
    const project = await readTasks(".");
    const elsewhere = ["test:long", "test:simulation"]
      .flatMap((name) => project[name].command.split(" "));
    for (const path of ignored.split(",").filter(Boolean)) {
      assert.ok((await stat(join(PROJECT, folder, path))).isDirectory(), path);
      assert.ok(elsewhere.includes(`${folder}/${path}`), path);
    }
  });
}

Deno.test("every package → a task for its tests", async () => {
  const packages = (await readdir(join(PROJECT, "packages"))).sort();
  assert.ok(packages.length >= 6);
  for (const name of packages) assert.ok((await readTasks(`packages/${name}`)).test, name);
});

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import type { NamedTest } from "./kept_promise.ts";
import {
  bulletsUnder,
  FOLDER,
  plain,
  readPromises,
  testFilesOf,
  testFilesOfCi,
  testNames,
} from "./reading.ts";

const PAGE = "SECURITY.md";

/** At the end of a bullet. */
const LINK = new RegExp(` \\[Tests\\]\\((${FOLDER}/[\\w/]+\\.ts)\\)`, "g");

Deno.test("every promise → stands in its page, word for word", async () => {
  const promises = await readPromises();
  assert.ok(promises.size > 25, "the promises are found");
  const missing: string[] = [];
  for (const [file, { page, sentence }] of promises) {
    if (!plain(await read(page)).includes(sentence)) missing.push(`${file}: ${page} has no such`);
  }
  assert.deepEqual(missing, []);
});

Deno.test(`what ${PAGE} promises → a file for each bullet, with the whole of it`, async () => {
  const promises = await readPromises();
  const bullets = bulletsUnder("What is promised", await read(PAGE));
  assert.ok(bullets.length > 5, "the bullets are found");
  for (const bullet of bullets) {
    const files = Array.from(bullet.matchAll(LINK), ([, file]) => file!);
    const sentences = files.map((file) => promises.get(file)?.sentence);
    assert.deepEqual(sentences, [plain(bullet.replaceAll(LINK, ""))]);
  }
});

Deno.test(`every promise of ${PAGE} → is linked there`, async () => {
  const linked = Array.from((await read(PAGE)).matchAll(LINK), ([, file]) => file!);
  const files = [...await readPromises()].filter(([, { page }]) => page === PAGE)
    .map(([file]) => file);
  assert.deepEqual(linked.toSorted(), files.toSorted());
});

Deno.test("every promise → held by tests that are there, one by each name, and run in CI", async () => {
  const run = await testFilesOfCi();
  assert.ok(run.size > 100, "the tests of CI are found");
  const faults: string[] = [];
  for (const [file, { tests }] of await readPromises()) {
    if (tests.length === 0) faults.push(`${file}: no test`);
    for (const test of tests) {
      const fault = await faultOf(test, run);
      if (fault !== null) faults.push(`${file}: ${test.file}, "${test.name}": ${fault}`);
    }
  }
  assert.deepEqual(faults, []);
});

Deno.test("plain() of links and line breaks → the words", () => {
  assert.equal(plain("a [b c](d.md#e)\nand [f][g] \\[h"), "a b c and f \\[h");
});

Deno.test("testNames() → of tests, wrapped tests and steps; none of what is ignored or a comment", () => {
  const source = [
    'Deno.test("a → b", () => {});',
    "meshTest(\n  `${x} → \\`c\\``,",
    '  await test.step("d", async () => {});',
    'Deno.test({\n  name: "e", fn() {} });',
    'Deno.test.ignore("f", () => {});',
    '// Deno.test("g", () => {});',
    'assert.equal("h", "i");',
  ].join("\n");
  assert.deepEqual(testNames(source), ["a → b", "${x} → \\`c\\`", "d", "e"]);
});

Deno.test("testFilesOf() → the files of the tasks that run, without those ignored and those of other tasks", async () => {
  const tasks = {
    one: { command: "x.ts --stacks=3 --ignore=tests/unit/documents tests/unit" },
    two: { command: "x.ts tests/promises" },
    three: { command: "x.ts tests/users" },
  };
  const files = await testFilesOf('suite "${deno[@]}" task one\n# task three\nbegin two\n', tasks);
  assert.ok(files.has("tests/unit/names_test.ts"));
  assert.ok(files.has("tests/promises/promises_test.ts"));
  assert.deepEqual([...files].filter((file) => /documents|users/.test(file)), []);
});

function read(path: string): Promise<string> {
  return readFile(join(PROJECT, path), "utf8");
}

/** What keeps a test from holding a promise, or null. */
async function faultOf({ file, name }: NamedTest, run: ReadonlySet<string>) {
  if (!run.has(file)) return "no test file that CI runs";
  const found = testNames(await read(file)).filter((whole) => whole.startsWith(name)).length;
  return found === 1 ? null : `${found} tests are called so`;
}

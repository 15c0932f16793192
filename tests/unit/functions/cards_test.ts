/** Do the cards of the operations say what the operations say? */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readOperations } from "../../../dev/documents/operations.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { cardsOf, FUNCTIONS } from "../../operations/cards.ts";

/** The tests of the conformance suite, as text. */
async function conformanceTests(): Promise<string> {
  const folder = join(PROJECT, "tests/conformance");
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith("_test.ts"));
  return (await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")))).join("\n");
}

for (const name of FUNCTIONS) {
  Deno.test(`every operation of ${name} → in the name of a test in tests/conformance/`, async () => {
    const tests = await conformanceTests();
    const isNamed = (path: string) =>
      new RegExp(`[tT]est\\(\\s*["\`][^"\`]*${path}(?![\\w/])`).test(tests);
    assert.deepEqual(
      cardsOf(name).map(([path]) => path).filter((path) => !isNamed(path))
        .map((path) =>
          `${path}: write a test in tests/conformance/ whose name says what it answers`
        ),
      [],
    );
  });

  Deno.test(`the operations of ${name} that /openapi.json leaves out → those of the operator whose cards say so`, async () => {
    const operations = await readOperations(name);
    for (const [path, { document }] of cardsOf(name)) {
      const { isUnlisted = false, callers } = operations.get(path)!;
      assert.equal(isUnlisted, document !== "described", path);
      if (isUnlisted) assert.equal(callers, "the operator", path);
    }
  });

  Deno.test(`the operations of ${name} without identification → those whose cards have no credential in the headers`, async () => {
    const operations = await readOperations(name);
    for (const [path, { asks }] of cardsOf(name)) {
      assert.equal(operations.get(path)!.identification === "none", typeof asks === "string", path);
    }
  });

  Deno.test(`the operations of ${name} that are no tools → for programs, or for the operator, as the cards say`, async () => {
    const operations = await readOperations(name);
    for (const [path, { tool }] of cardsOf(name)) {
      const { callers, isForPrograms = false } = operations.get(path)!;
      assert.equal(callers === "the operator", tool === "none: for the operator", path);
      assert.equal(isForPrograms, tool === "none: for programs", path);
    }
  });

  Deno.test(`the operations of ${name} that only read → those that no restore loses, as the cards say`, async () => {
    const operations = await readOperations(name);
    for (const [path, { afterRestore }] of cardsOf(name)) {
      const reads = operations.get(path)!.effect === "reads";
      assert.equal(reads, afterRestore === "not listed: reads", path);
    }
  });
}

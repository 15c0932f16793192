/** Do the cards of the operations say what the operations say? */
import assert from "node:assert/strict";
import { readOperations } from "../../../dev/documents/operations.ts";
import { cardsOf, FUNCTIONS } from "../../operations/cards.ts";

for (const name of FUNCTIONS) {
  Deno.test(`the operations of ${name} → a card of each, in the same order`, async () => {
    const paths = [...(await readOperations(name)).keys()];
    assert.deepEqual(cardsOf(name).map(([path]) => path), paths);
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

import assert from "node:assert/strict";
import { type FunctionName, readOperations } from "../../../dev/documents/operations.ts";
import { readPages, rowsUnder } from "./pages.ts";

const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

Deno.test("the documentation's tables → every path once, with who may call it; one that only commands call may be left out", async () => {
  const rows = rowsUnder(/^path\b/, await readPages());
  const documented = new Set(rows.map(([path]) => path));
  const operations = (await Promise.all(FUNCTIONS.map(readOperations))).flatMap((all) => [...all])
    .filter(([path, { isUnlisted }]) => !isUnlisted || documented.has(path));
  assert.deepEqual(
    rows.map((cells) => `${cells[0]}: ${cells.at(-1)}`).toSorted(),
    operations.map(([path, { callers }]) => `${path}: ${callers}`).toSorted(),
  );
});

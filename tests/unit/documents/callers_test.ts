import assert from "node:assert/strict";
import { type FunctionName, readOperations } from "../../../dev/documents/operations.ts";
import { readPages } from "./pages.ts";

const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

Deno.test("the documentation's lists of operations → every path once, with who may call it, but for those that only commands call", async () => {
  const listed = (await readPages()).flatMap(({ text }) =>
    Array.from(text.matchAll(/^- `(\/[^`]+)` \((.+?)\): /gm), ([, path, who]) => `${path}: ${who}`)
  );
  const operations = (await Promise.all(FUNCTIONS.map(readOperations))).flatMap((all) => [...all])
    .filter(([, { isUnlisted }]) => !isUnlisted);
  assert.deepEqual(
    listed.toSorted(),
    operations.map(([path, { callers }]) => `${path}: ${callers}`).toSorted(),
  );
});

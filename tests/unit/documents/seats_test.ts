import assert from "node:assert/strict";
import { SEATS, tableOf } from "../../long/seats/seats.ts";
import { readPages, rowsUnder } from "./pages.ts";

Deno.test("the table of programs with which the clients are tested → every seat of the test, no other", async () => {
  const rows = rowsUnder(/^Tested with$/, await readPages());
  assert.deepEqual(rows, SEATS.map(({ name, client }) => [name, client]));
});

Deno.test("tableOf() without a row of a seat → MISSING", () => {
  const rows = new Map(SEATS.slice(1).map(({ name }) => [name, { version: "1", result: "ok" }]));
  const [, first, second] = tableOf(rows).split("\n");
  assert.match(first!, /^Node 20 .* MISSING$/);
  assert.match(second!, /^Node 22 .* 1 +ok$/);
});

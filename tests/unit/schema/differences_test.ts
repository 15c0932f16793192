import assert from "node:assert/strict";
import { compareCatalogues } from "../../../dev/schema/differences.ts";
import { diffLines } from "../../../dev/schema/line_diff.ts";

Deno.test("compareCatalogues() → names what one side lacks, and shows only the lines that differ", () => {
  const differences = compareCatalogues({
    migrations: new Map([["table a", "1"], ["table b", "1\n2\n3"], ["table d", "same"]]),
    schemas: new Map([["table b", "1\n3\n4"], ["table c", "1"], ["table d", "same"]]),
  });
  assert.deepEqual(differences, [
    "table a: made by the migrations, not in supabase/schemas.",
    "table b:\n  - 2\n  + 4",
    "table c: in supabase/schemas, not made by the migrations.",
  ]);
});

Deno.test("compareCatalogues() of a function whose settings differ → says each in words, with the statement", () => {
  const name = "function public.f(a text)";
  const [difference, ...others] = compareCatalogues({
    migrations: new Map([[name, " SET work_mem TO '1MB'\n SET jit TO 'off'\nbody"]]),
    schemas: new Map([[name, " SET lock_timeout TO '1s'\n SET jit TO 'on'\nbody"]]),
  });
  assert.deepEqual(others, []);
  assert.deepEqual(difference!.split("\n"), [
    `${name}:`,
    `  The migrations leave it without its lock_timeout: alter ${name} set lock_timeout to '1s';`,
    `  The migrations give it another jit, 'off': alter ${name} set jit to 'on';`,
    `  The migrations give it a work_mem: alter ${name} reset work_mem;`,
  ]);
});

for (
  const [before, after, lines] of [
    ["a b c", "a b c", ""],
    ["a b c", "a x c", "-b +x"],
    ["a b", "a n b", "+n"],
    ["n a b", "a b n", "-n +n"],
    ["a b c d", "b c", "-a -d"],
    ["a", "b c", "-a +b +c"],
  ] as const
) {
  Deno.test(`diffLines() of "${before}" and "${after}" → "${lines}"`, () => {
    const found = diffLines(before.split(" "), after.split(" "));
    assert.equal(found.map(({ side, text }) => side + text).join(" "), lines);
  });
}

import assert from "node:assert/strict";
import { sorted, sortingOf } from "../../packages/operator/output/sorted.ts";

interface Row {
  readonly place: number;
  readonly size: number;
}

const COLUMNS = {
  heads: ["PLACE", "SIZE"],
  cells: ({ place, size }: Row) => [String(place), String(size)],
};

async function* rows(count: number): AsyncGenerator<Row> {
  for (let place = 0; place < count; place++) yield { place, size: place % 1000 };
}

Deno.test("sorted, of many more rows than it holds → the first of all, equal ones as they came", async () => {
  const sorting = { ...sortingOf("size", COLUMNS), limit: 30 };
  const first = await Array.fromAsync(sorted(rows(25_000), sorting));
  assert.deepEqual(
    first.map(({ place, size }) => [place, size]),
    [999, 998].flatMap((size) =>
      Array.from({ length: 25 }, (_, index) => [index * 1000 + size, size])
    ).slice(0, 30),
  );
});

Deno.test("sorted without a limit → every row", async () => {
  const sorting = { ...sortingOf("size", COLUMNS), limit: Infinity };
  const all = await Array.fromAsync(sorted(rows(25_000), sorting));
  assert.equal(new Set(all.map(({ place }) => place)).size, 25_000);
});

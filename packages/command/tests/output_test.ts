import assert from "node:assert/strict";
import { definedIn } from "../terminal/bands.ts";
import { aligned, inBytes, Output, plain, table } from "../terminal/output.ts";

const HEADS = ["AGENT", "SINCE", "TEXT"];
const ROWS = [
  ["planner", "2026-01-31", "makes plans for everybody who asks"],
  ["builder", "2026-02-01", "builds"],
];

Deno.test("table() that fits → aligned columns below their heads", () => {
  assert.equal(
    table(HEADS, ROWS, 80),
    `AGENT    SINCE       TEXT
planner  2026-01-31  makes plans for everybody who asks
builder  2026-02-01  builds`,
  );
});

Deno.test("table() that does not fit → first without the dispensable column, then over lines", () => {
  const wide = ROWS.map((row) => [...row, "x".repeat(20)]);
  const shorter = table([...HEADS, "X"], wide, 60, "X");
  assert.equal(shorter, table(HEADS, ROWS, 80));
  const text = table(HEADS, [["a".repeat(40), "b".repeat(40), "c".repeat(40)]], 60);
  for (const line of text.split("\n")) assert.ok(line.length <= 60, line);
  for (const letter of "abc") assert.equal(text.split(letter).length - 1, 40, letter);
});

Deno.test("table() in fewer than 60 columns → a record per row", () => {
  const [first] = table(HEADS, ROWS, 40).split("\n\n");
  assert.equal(
    first,
    "AGENT  planner\nSINCE  2026-01-31\nTEXT   makes plans for everybody who asks",
  );
});

Deno.test("definedIn() → the text beside its name, wrapped", () => {
  assert.equal(
    definedIn([["name", "one two three"], ["x", ""]], 14),
    "name  one two\n      three\nx",
  );
});

Deno.test("plain() of what controls a terminal or its direction → replaced", () => {
  assert.equal(plain("a\x1b[31mb\r\n\u202ec\x9b"), "a\ufffd[31mb\ufffd\ufffd\ufffdc\ufffd");
  assert.equal(plain("ü 漢 🎉"), "ü 漢 🎉");
});

Deno.test("inBytes() → the largest unit that fits", () => {
  assert.deepEqual(
    [0, 1023, 1024, 12.3 * 2 ** 20, 5 * 2 ** 40].map(inBytes),
    ["0 B", "1023 B", "1.0 KiB", "12.3 MiB", "5120.0 GiB"],
  );
});

Deno.test("aligned() of nothing → nothing", () => {
  assert.equal(aligned([]), "");
});

for (
  const [json, written] of [
    [true, '{"name":"a\\u001b"}\n{"name":"b"}\n[1]\n'],
    [false, "a\ufffd\t1\nb\t1\none\n"],
  ] as const
) {
  Deno.test(`Output, ${json ? "with" : "without"} --json, in a pipe → ${JSON.stringify(written)}`, async () => {
    let text = "";
    const output = new Output({ json }, (part) => {
      text += part;
      return Promise.resolve();
    });
    async function* rows() {
      yield* [{ name: "a\x1b" }, { name: "b" }];
    }
    await output.rows(rows(), {
      heads: ["NAME", "N"],
      cells: ({ name }) => [name, "1"],
      isEndless: true,
    });
    await output.value([1], () => "one");
    assert.equal(text, written);
  });
}

import assert from "node:assert/strict";
import type { Described } from "../command.ts";
import { helpOf, usageOf } from "../help.ts";
import { definitions, wrapped } from "../layout.ts";

const GREET: Described = {
  summary: "Greet somebody whose name is given, and say it as loudly as the options demand.",
  example: "greet Ada --loud\ngreet Bob",
  positionals: { usage: "<name>", least: 1, wrong: "Name somebody." },
  options: {
    loud: { type: "boolean", short: "l", help: "in capital letters" },
    by: { type: "string", value: "WHO", multiple: true, help: "who greets; may be given twice" },
  },
};

Deno.test("helpOf() a command → its summary, usage, options and example", () => {
  assert.equal(
    helpOf("greet", GREET, 60),
    `Greet somebody whose name is given, and say it as loudly as
the options demand.

Usage: greet <name> [--loud] [--by WHO]…

  -l, --loud    in capital letters
      --by WHO  who greets; may be given twice
      --json    print one JSON value per line
  -h, --help    show this text

Example:
  greet Ada --loud
  greet Bob
`,
  );
});

Deno.test("helpOf() a group → its parts with their summaries", () => {
  const group = { ...GREET, options: {}, parts: { greet: GREET } };
  assert.equal(usageOf("x", group), "x greet …");
  assert.match(helpOf("x", group, 80), /^ {2}greet {2}Greet somebody whose name is given/m);
});

Deno.test("helpOf() in any width from 40 columns → no line is wider", () => {
  for (let columns = 40; columns <= 100; columns++) {
    for (const line of helpOf("greet", GREET, columns).split("\n")) {
      assert.ok(line.length <= columns, `${columns}: ${line}`);
    }
  }
});

Deno.test("wrapped() → full lines with an indent; a longer word is not broken", () => {
  assert.equal(wrapped("one two three", 8, "  "), "one two\n  three");
  assert.equal(wrapped("a-very-long-word x", 4), "a-very-long-word\nx");
});

Deno.test("definitions() in a narrow terminal → meanings below their terms", () => {
  const pairs = [["--option-of-length VALUE", "what it does, at length"]] as const;
  assert.equal(definitions(pairs, 80), "  --option-of-length VALUE  what it does, at length\n");
  assert.equal(
    definitions(pairs, 40),
    "  --option-of-length VALUE\n      what it does, at length\n",
  );
});

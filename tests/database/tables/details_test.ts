import assert from "node:assert/strict";
import { readSchemaFiles } from "../../../packages/local/postgres/schema_files.ts";
import { NAMELESS_DETAILS, NAMES_IN_DETAILS } from "./entries/log.ts";

/** The functions that write an event, now or later. */
const WRITERS = /\bagents\.(?:record_event|record_change|record_read|record_repeated)\(/g;

Deno.test("every field that SQL functions write into the details of events → NAMES_IN_DETAILS says how a name gets there, or NAMELESS_DETAILS why it cannot", async () => {
  const files = await readSchemaFiles();
  const fields = new Set(files.flatMap(({ text }) => fieldsIn(text.replaceAll(/--.*$/gm, ""))));
  assert.ok(fields.size > 30, [...fields].join());
  const listed = [...Object.keys(NAMES_IN_DETAILS), ...Object.keys(NAMELESS_DETAILS)];
  const place = "in tests/database/tables/entries/log.ts";
  assert.deepEqual(
    [...fields].filter((field) => !listed.includes(field)),
    [],
    `fields without an entry ${place}`,
  );
  assert.deepEqual(
    listed.filter((field) => !fields.has(field)),
    [],
    `entries ${place} without a field`,
  );
});

Deno.test("fieldsIn() → the names in every object of the call but the caller, and no values", () => {
  const text = `perform agents.record_event(jsonb_build_object('no', 1), null, 'a.b', (x).id,
    jsonb_strip_nulls(jsonb_build_object('one', f('no', (2)), 'two', 'no')) || other(y));
    return jsonb_build_object('no', 1);`;
  assert.deepEqual(fieldsIn(text), ["one", "two"]);
});

/** The names of the fields in what a text passes to the writers of events, after the caller. */
function fieldsIn(text: string): string[] {
  return Array.from(text.matchAll(WRITERS)).flatMap(({ index, 0: call }) =>
    argumentsAt(text, index + call.length).slice(1).flatMap((argument) =>
      Array.from(argument.matchAll(/jsonb_build_object\(/g)).flatMap(({ index, 0: call }) =>
        argumentsAt(argument, index + call.length)
          .filter((_, place) => place % 2 === 0)
          .flatMap((name) => /^'(\w+)'$/.exec(name.trim())?.[1] ?? [])
      )
    )
  );
}

/** The arguments of the call whose parenthesis opens just before `start`. */
function argumentsAt(text: string, start: number): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = start;
  for (const { index, 0: token } of text.slice(start).matchAll(/'[^']*'|[(),[\]]/g)) {
    const at = start + index;
    if (token === "(" || token === "[") depth += 1;
    if (token === ")" || token === "]") depth -= 1;
    if (depth < 0 || depth === 0 && token === ",") {
      found.push(text.slice(from, at));
      from = at + 1;
    }
    if (depth < 0) break;
  }
  return found;
}

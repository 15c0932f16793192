/** The forms in which hosts send arguments. The functions and `agentfiles mcp` read them alike. */
import assert from "node:assert/strict";
import * as z from "zod";
import * as ofClient from "../../packages/cli/mcp/arguments.ts";
import { settleMessage as settleOfClient } from "../../packages/cli/mcp/message.ts";
import { nearestField as nearestOfClient } from "../../packages/cli/mcp/nearest_field.ts";
import * as ofService from "../../supabase/functions/_shared/operations/mcp/arguments.ts";
import { settleMessage as settleOfService } from "../../supabase/functions/_shared/operations/mcp/message.ts";
import { nearestField as nearestOfService } from "../../supabase/functions/_shared/request/reading/nearest_field.ts";

const SCHEMA = z.toJSONSchema(
  z.object({
    text: z.string(),
    name: z.string().min(1).optional(),
    any_text: z.string().optional(),
    id: z.string().regex(/^a+$/).optional(),
    choice: z.enum(["a", "b"]).optional(),
    number: z.int().optional(),
    flag: z.boolean().optional(),
    list: z.array(z.string()).optional(),
    numbers: z.array(z.int()).optional(),
    nullable: z.int().nullable().optional(),
    text_or_number: z.union([z.string(), z.int()]).optional(),
    rows: z.array(z.object({ key: z.string(), age: z.int().nullable(), note: z.int().optional() }))
      .optional(),
  }),
  { io: "input" },
) as ofService.ArgumentSchema;

const FORMS: readonly (readonly [what: string, given: object, meant: object])[] = [
  ["null for optional fields", { name: null, number: null, list: null, rows: null }, {}],
  ["null for a required field", { text: null }, { text: null }],
  ["an empty text where it cannot be", { name: "", id: "", choice: "", number: "", list: "" }, {}],
  ["an empty text where it can be", { text: "", any_text: "" }, { text: "", any_text: "" }],
  ["JSON of numbers and booleans", { number: "5", flag: "false" }, { number: 5, flag: false }],
  ["JSON of lists", { list: '["5", "a"]', numbers: '["5", 6]' }, {
    list: ["5", "a"],
    numbers: [5, 6],
  }],
  ["JSON of null", { number: "null", nullable: "null" }, {}],
  ["JSON where a text is", { text: "5", any_text: "null", choice: '"a"', text_or_number: "5" }, {
    text: "5",
    any_text: "null",
    choice: '"a"',
    text_or_number: "5",
  }],
  ["texts that are no JSON", { number: "five", list: "a", flag: "yes", rows: "{" }, {
    number: "five",
    list: "a",
    flag: "yes",
    rows: "{",
  }],
  ["JSON of a text", { number: '"5"', list: '"a"' }, { number: '"5"', list: '"a"' }],
  ["nested objects", { rows: '[{"key": "5", "age": "7", "note": ""}, {"key": "", "age": null}]' }, {
    // A required field keeps its null.
    rows: [{ key: "5", age: 7 }, { key: "", age: null }],
  }],
  ["JSON within JSON", { rows: '["{\\"key\\": \\"a\\", \\"age\\": 1}"]' }, {
    rows: [{ key: "a", age: 1 }],
  }],
  ["unknown fields", { other: null, more: "", ["__proto__x"]: "5" }, {
    other: null,
    more: "",
    ["__proto__x"]: "5",
  }],
  ["fields that every object inherits", { constructor: "5", toString: null }, {
    constructor: "5",
    toString: null,
  }],
];

for (const [what, given, meant] of FORMS) {
  Deno.test(`settleArguments() of ${what} → ${JSON.stringify(meant)}`, () => {
    assert.deepEqual(ofService.settleArguments(given, SCHEMA), meant);
    assert.deepEqual(ofClient.settleArguments(given, SCHEMA), meant);
  });
}

Deno.test("settleArguments() of __proto__ → a field like any other", () => {
  const given = JSON.parse('{"__proto__": {"admin": true}}');
  for (const { settleArguments } of [ofService, ofClient]) {
    const settled = settleArguments(given, SCHEMA);
    assert.deepEqual(Object.keys(settled), ["__proto__"]);
    assert.equal((settled as { admin?: unknown }).admin, undefined);
  }
});

Deno.test("settleArguments() of thousands of nested lists → as they are", () => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  for (const { settleArguments } of [ofService, ofClient]) {
    assert.ok(Array.isArray(settleArguments({ list: deep }, SCHEMA)["list"]));
  }
});

const call = (params: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

const MESSAGES: readonly (readonly [what: string, params: unknown, meant: unknown])[] = [
  ["arguments of null", { name: "a", arguments: null }, { name: "a" }],
  ["arguments of an empty text", { name: "a", arguments: " " }, { name: "a" }],
  ["arguments as a text", { name: "a", arguments: '{"b": 1}' }, { name: "a", arguments: { b: 1 } }],
  ["arguments that are no JSON", { name: "a", arguments: "{" }, { name: "a", arguments: "{" }],
  ["a name that looks like JSON", { name: "5" }, { name: "5" }],
  ["cursors", { cursor: "" }, {}],
  ["lists", [1], [1]],
];

for (const [what, params, meant] of MESSAGES) {
  Deno.test(`settleMessage() of ${what} → ${JSON.stringify(meant)}`, () => {
    for (const settleMessage of [settleOfService, settleOfClient]) {
      assert.deepEqual(settleMessage(call(params)), call(meant));
    }
  });
}

Deno.test("settleMessage() of params that are null or missing → without params", () => {
  for (const settleMessage of [settleOfService, settleOfClient]) {
    assert.deepEqual(settleMessage({ id: 1, params: null }), { id: 1 });
    assert.deepEqual(settleMessage({ id: 1 }), { id: 1 });
  }
});

Deno.test("nearestField() → the same field in the functions and in agentfiles mcp", () => {
  const fields = ["path", "key", "to", "to_tags", "max_downloads", "ttl_days"];
  for (const typed of ["to_agent", "toTags", "downloads", "pth", "ttl", "colour", "t"]) {
    assert.equal(nearestOfClient(typed, fields), nearestOfService(typed, fields));
  }
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { findUnansweredFields } from "../../../../dev/checks/answered_fields.ts";
import { AnsweredFields } from "../../../conformance/fields/answered_fields.ts";

const POINTER = "#/paths/~1list/post/responses/200/content/application~1json/schema";

const DOCUMENT = {
  paths: {
    "/list": {
      post: {
        requestBody: {
          content: { "application/json": { schema: { properties: { limit: {} } } } },
        },
        responses: {
          "200": {
            content: {
              "application/json": {
                schema: {
                  properties: {
                    things: { items: { $ref: "#/components/schemas/Thing" } },
                    note: {},
                  },
                  required: ["things"],
                },
              },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        anyOf: [{ type: "null" }, {
          properties: { id: {}, label: {}, size: {} },
          required: ["id"],
        }],
      },
    },
  },
};

Deno.test("AnsweredFields → every optional field of answers and of named schemas, and which of them an answer had", () => {
  const fields = new AnsweredFields(DOCUMENT);
  const note = "/list post 200 application/json note";
  assert.deepEqual([...fields.seen.optional].sort(), [note, "Thing label", "Thing size"]);
  fields.note(POINTER, { things: [] });
  fields.note(POINTER, { things: [null, { id: 1 }, { id: 2, size: null }] });
  assert.ok(fields.seen.answered.includes("Thing size"));
  assert.ok(!fields.seen.answered.includes("Thing label"));
  assert.ok(!fields.seen.answered.includes(note));
});

Deno.test("findUnansweredFields() → those that no process has seen, of objects that some answer had", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const optional = ["Thing one", "Thing two", "Thing three", "Rare one"];
    for (const answered of [["Thing one"], ["Thing two", "Thing other"]]) {
      const text = JSON.stringify({ optional, answered });
      await Deno.writeTextFile(join(folder, `${crypto.randomUUID()}.json`), text);
    }
    assert.deepEqual(await findUnansweredFields(folder), ["Thing three"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

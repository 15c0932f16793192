import assert from "node:assert/strict";
import * as z from "zod";
import { unknownFields } from "../../../../supabase/functions/_shared/request/reading/invalid_request.ts";
import { createOperation as createPut } from "../../../../supabase/functions/_shared/identity/enrolment/put.ts";
import { createOperation as createTest } from "../../../../supabase/functions/_shared/identity/enrolment/test_proof.ts";
import { createOperation as createRevoke } from "../../../../supabase/functions/_shared/identity/enrolment/revoke.ts";
import { createOperation as createList } from "../../../../supabase/functions/_shared/identity/enrolment/list.ts";
import { createOperation as createKeys } from "../../../../supabase/functions/agent-mesh/routes/psk_keys.ts";
import { type FieldSchema, FUNCTIONS, readOpenApi } from "./requests.ts";

/** Whose members are defined elsewhere: RFC 7517 has others ignored. */
const OPEN = [/: jwks$/];

/** The objects that accept fields which they do not define. */
function openObjects(where: string, schema: FieldSchema): string[] {
  const parts = [...schema.anyOf ?? [], ...schema.items ? [schema.items] : []];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    openObjects(`${where}: ${name}`, property)
  );
  const isOpen = schema.properties !== undefined && schema.additionalProperties !== false &&
    !OPEN.some((allowed) => allowed.test(where));
  return [...(isOpen ? [where] : []), ...own, ...parts.flatMap((part) => openObjects(where, part))];
}

for (const name of FUNCTIONS) {
  Deno.test(`every object in a request of ${name}'s document → additionalProperties: false`, async () => {
    const { paths } = await readOpenApi(name);
    const requests = Object.entries(paths).flatMap(([path, { post }]) =>
      post?.requestBody === undefined
        ? []
        : openObjects(path, post.requestBody.content["application/json"].schema)
    );
    assert.deepEqual(requests, []);
  });
}

Deno.test("every object in a request of an operation that no document lists → the same", () => {
  for (const create of [createPut, createTest, createRevoke, createList, createKeys]) {
    const { summary, request } = create({ settings: {} } as Parameters<typeof createKeys>[0]);
    const schema = z.toJSONSchema(request, { io: "input", unrepresentable: "any" });
    assert.deepEqual(openObjects(summary, schema as FieldSchema), []);
  }
});

const KNOWN = ["artifact_id", "to_agent", "to_tag", "expires_at", "max_downloads", "ttl_days", "a"];

/** The field that is suggested in place of `typed`; null: none. */
function suggested(typed: string, given: object = {}): string | null {
  const [issue, ...others] = unknownFields({ ...given, [typed]: 1 }, { known: KNOWN });
  assert.deepEqual(others, []);
  assert.equal(issue?.path, typed);
  return /^Unknown field\.(?: Did you mean (.+)\?)?$/.exec(issue.message)?.[1] ?? null;
}

const SUGGESTIONS: readonly (readonly [typed: string, meant: string | null])[] = [
  ["to_agnt", "to_agent"],
  ["toAgent", "to_agent"],
  ["To-Agent", "to_agent"],
  ["TOAGENT", "to_agent"],
  ["max_download", "max_downloads"],
  ["maxDownloads", "max_downloads"],
  ["downloads", "max_downloads"],
  ["to_agent_id", "to_agent"],
  ["ttl", "ttl_days"],
  ["expiry", null],
  ["to", null],
  ["x", null],
  ["", null],
  ["colour", null],
  ["constructor", null],
  ["__proto__x", null],
  ["x".repeat(60_000), null],
];

for (const [typed, meant] of SUGGESTIONS) {
  Deno.test(`the unknown field ${typed.slice(0, 20)} → ${meant ?? "no suggestion"}`, () => {
    assert.equal(suggested(typed), meant);
  });
}

Deno.test("an unknown field near one that was sent → no suggestion: it was not meant", () => {
  assert.equal(suggested("to_agnt", { to_agent: "builder" }), null);
});

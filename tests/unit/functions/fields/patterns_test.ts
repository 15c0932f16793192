import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { type Field, readFields, readOpenApi, validatorOf } from "./requests.ts";
import { values } from "./values.ts";

const FIELDS = [...await readFields("agent-artifacts"), ...await readFields("agent-mesh")];

/** One field of each group with the same validation and the same schema. */
const KINDS = FIELDS.filter((field, index) =>
  FIELDS.findIndex((other) => isAlike(field, other)) === index
);

function isAlike(field: Field, other: Field): boolean {
  return field.zod === other.zod && isDeepStrictEqual(field.schema, other.schema);
}

function fieldAt(where: string): Field {
  const field = FIELDS.find((field) => field.where === where);
  assert.ok(field, `there is no ${where}`);
  return field;
}

function accepts({ zod }: Field, value: unknown): boolean {
  return zod.safeParse(value).success;
}

/** Whether the field's schema allows the value. A field left out is outside a value's schema. */
function hasInDocument({ fits }: Field, value: unknown): boolean {
  return value === undefined || fits(value);
}

Deno.test("any value of any field that the function accepts → valid by the document's schema", () => {
  const counts = new Map(KINDS.map(({ where }) => [where, { accepted: 0, refused: 0 }]));
  fc.assert(
    fc.property(values, (value) => {
      for (const field of KINDS) {
        const isAccepted = accepts(field, value);
        counts.get(field.where)![isAccepted ? "accepted" : "refused"] += 1;
        if (!isAccepted) continue;
        assert.ok(hasInDocument(field, value), `${field.where}: ${JSON.stringify(value)}`);
      }
    }),
    { numRuns: 2_000 },
  );
  for (const [where, { accepted, refused }] of counts) {
    assert.ok(accepted > 0 && refused > 0, `${where}: ${accepted} accepted, ${refused} refused`);
  }
});

/** The rules that a pattern cannot express: well-formed Unicode, at most 1024 bytes. */
function isSendable(text: string): boolean {
  return text.isWellFormed() && new TextEncoder().encode(text).byteLength <= 1024;
}

Deno.test("any text of at most 1024 bytes that fits the schema of a key, prefix, agent or private key file → accepted by the function", () => {
  const exact = [
    fieldAt("/register: key"),
    fieldAt("/open: key"),
    fieldAt("/list: prefix"),
    fieldAt("/register: agent_id"),
    fieldAt("/acl/put: to_agent"),
    fieldAt("/register: mime"),
    fieldAt("/wg_config: private_key_file"),
  ];
  fc.assert(
    fc.property(values, (value) => {
      if (typeof value !== "string" || !isSendable(value)) return;
      for (const field of exact) {
        if (!field.fits(value)) continue;
        assert.ok(accepts(field, value), `${field.where}: ${JSON.stringify(value)}`);
      }
    }),
    { numRuns: 2_000 },
  );
});

const CONTROL = ["\0", "\x01", "\t", "\n", "\x1f", "\x7f", "\x80", "\x85", "\x9f"];

/** Values that the pattern alone refuses, by field. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "/register: key": [
    "",
    "/x",
    "x/",
    "a//b",
    "a/../b",
    "../x",
    "x/..",
    "..",
    ".",
    "./x",
    "a/./b",
    "x/.",
    "/",
    "a\\b",
    "\\",
    ...CONTROL,
    ...CONTROL.map((character) => `a/b${character}c`),
  ],
  "/list: prefix": [
    "/",
    "/x",
    "a//",
    "a//b",
    "a/../",
    "a/../b",
    "../x",
    "./",
    "a/./b",
    "a\\b",
    ...CONTROL.map((character) => `a/b${character}`),
  ],
  "/register: agent_id": ["", "-a", ".a", "a b", "a/b", "ä", "a\n", "a".repeat(129)],
  "/register: mime": ["", "text", "text/", "/plain", "text/plain;", "text /plain", "a/b; c"],
  "/commit: sha256": ["", "a".repeat(63), "a".repeat(65), "g".repeat(64)],
  "/grant: expires_at": ["2026-02-07", "2026-02-07T09:30:00", "2026-02-07T09:30:00+01:00"],
  "/list: cursor": ["", "a+b=", "a b"],
  "/peer/register: pubkey": ["", "A".repeat(44), `${"A".repeat(43)}=`.slice(1), "A".repeat(43)],
  "/peer/register: endpoint": [
    "",
    "name.example",
    "name.example:0",
    "name.example:65536a",
    "name.example:051820",
    ":1",
    "[::1%eth0]:1",
    "::1:1",
    "a b:1",
    "a_b:1",
    "-a:1",
    "a-:1",
    "a..b:1",
    "a.:1",
    "http://a:1",
  ],
  "/wg_config: private_key_file": [
    "",
    "etc/key",
    "/etc/../key",
    "/..",
    "/a b",
    "/%",
    "/%n",
    "/%%i",
    "/a;b",
    "/$a",
    "/é",
  ],
};

Deno.test("texts that a function refuses → refused by the pattern in the document alone", () => {
  for (const [where, texts] of Object.entries(REFUSED)) {
    const field = fieldAt(where);
    const { pattern } = [field.schema, ...field.schema.anyOf ?? []].find(({ pattern }) =>
      pattern
    ) ??
      {};
    assert.ok(pattern, `${where} has no pattern`);
    const fits = validatorOf({ type: "string", pattern });
    for (const text of texts) {
      assert.equal(accepts(field, text), false, `${where}: ${JSON.stringify(text)}`);
      assert.equal(fits(text), false, `${where}: ${JSON.stringify(text)}`);
    }
  }
});

Deno.test("unusual names that a function accepts → valid by the document", () => {
  const key = fieldAt("/register: key");
  for (const text of ["...", "..a", "a..", ".a/.b", "a b", "ä/😀", "\u202e", "é".repeat(512)]) {
    assert.ok(accepts(key, text) && key.fits(text), JSON.stringify(text));
  }
  const prefix = fieldAt("/list: prefix");
  for (const text of ["", "a/", "a/.", "a/..", "..", "a"]) {
    assert.ok(accepts(prefix, text) && prefix.fits(text), JSON.stringify(text));
  }
});

Deno.test("/register by a validator compiled from the document → sends a good body, and refuses a key with .. by its pattern", async () => {
  const { paths } = await readOpenApi("agent-artifacts");
  const validate = validatorOf(
    paths["/register"]!["post"]!.requestBody!.content["application/json"].schema,
  );
  const body = { key: "reports/july.pdf", mime: "application/pdf", size: 5, ttl_days: 7 };
  assert.equal(validate(body), true);
  for (const key of ["reports/../july.pdf", "../july.pdf", "reports/.."]) {
    assert.equal(validate({ ...body, key }), false, key);
    const { errors } = validate as unknown as {
      errors: { instancePath: string; keyword: string }[];
    };
    assert.deepEqual(
      errors.map(({ instancePath, keyword }) => [instancePath, keyword]),
      [["/key", "pattern"]],
    );
  }
});

/**
 * Look-around, back references, Unicode classes and whatever else differs between languages, and
 * counts above 1000, which RE2 refuses.
 */
const NOT_PORTABLE = /\(\?(?!:)|\\[1-9a-wyz]|\{(?:\d+,)?(?!1000\})\d{4,}/i;

Deno.test("every pattern of the documents → only what JavaScript, Python and RE2 read alike", async () => {
  const texts = JSON.stringify([
    await readOpenApi("agent-artifacts"),
    await readOpenApi("agent-mesh"),
  ]);
  const patterns = Array.from(
    texts.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
    ([, text]) => JSON.parse(text!) as string,
  );
  assert.ok(patterns.length > 50, `only ${patterns.length} patterns were found`);
  for (const pattern of patterns) {
    assert.doesNotMatch(pattern, NOT_PORTABLE);
    new RegExp(pattern, "u");
  }
});

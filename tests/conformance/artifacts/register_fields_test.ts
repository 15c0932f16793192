import assert from "node:assert/strict";
import { artifactTest, listed, tryRegister } from "../artifacts.ts";
import { assertInvalid } from "../client.ts";
import { readBounds } from "./bounds.ts";

const VALID = { key: "k", mime: "text/plain", size: 1, ttl_days: 1 };

const { maxSize, maxTtlDays } = await readBounds();

interface FieldRule {
  readonly field: string;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

/**
 * Fields of /register. A good value is returned unchanged; the refusal of a bad one names the
 * field.
 */
const REGISTER_RULES: readonly FieldRule[] = [
  {
    field: "key",
    good: [
      "a",
      "a/b/c.txt",
      "with space/and ünïcödé/日本/🙂",
      "...",
      "a/...b",
      ".hidden/x",
      "x".repeat(1024),
      "é".repeat(512),
      "a%2Fb?c#d&e=f+g:h*i\"j'k|l<m>",
      "\u{10FFFF}\u2028\u00a0",
    ],
    bad: [
      "",
      "/a",
      "a/",
      "a//b",
      ".",
      "..",
      "a/./b",
      "../a",
      "a/..",
      "a\\b",
      "a\nb",
      "a\u0000b",
      "a\u007fb",
      "a\u0085b",
      "x".repeat(1025),
      "é".repeat(513),
      "a\ud800",
      "\udc00b",
      1,
      null,
      undefined,
    ],
  },
  {
    field: "mime",
    good: [
      "text/plain",
      "application/vnd.api+json",
      "text/plain; charset=utf-8",
      'multipart/x; boundary="a b;c\\"d"',
      "a/b;c=d;e=f",
      `a/b; c=${"d".repeat(255 - 7)}`,
    ],
    bad: [
      "",
      "text",
      "text/",
      "/plain",
      "text/plain;",
      "text/plain; charset",
      "text /plain",
      "text/plain\r\nx: y",
      "text/pläin",
      "-a/b",
      `a/b; c=${"d".repeat(255 - 6)}`,
      `${"a".repeat(128)}/b`,
      7,
      null,
      undefined,
    ],
  },
  {
    field: "size",
    good: [0, 1, maxSize],
    bad: [-1, 1.5, "1", maxSize + 1, 1e300, Number.MAX_SAFE_INTEGER, null, undefined, true],
  },
  {
    field: "ttl_days",
    good: [1, maxTtlDays],
    bad: [0, -1, maxTtlDays + 1, 1.5, "7", null, undefined],
  },
];

for (const { field, good, bad } of REGISTER_RULES) {
  artifactTest(
    `/register with a good ${field} → 200, given back as it was`,
    async ({ planner }) => {
      for (const value of good) {
        const answer = await tryRegister(planner, {
          agent_id: planner.id,
          ...VALID,
          [field]: value,
        });
        assert.equal(answer.status, 200, `${field}: ${JSON.stringify(value)}`);
        assert.deepEqual(answer.body[field as "key"], value);
      }
    },
  );

  artifactTest(
    `/register with a bad ${field} → 422 that names it, without an upload URL`,
    async ({ planner }) => {
      for (const value of bad) {
        const body = { agent_id: planner.id, ...VALID, [field]: value };
        const answer = await tryRegister(planner, body);
        assertInvalid(answer, field);
        assert.equal("upload_url" in answer.body, false);
      }
      assert.deepEqual(await listed(planner), []);
    },
  );
}

artifactTest("/register with several bad fields → 422, an issue for each", async ({ planner }) => {
  const answer = await tryRegister(planner, {
    agent_id: planner.id,
    key: "/",
    mime: "x",
    size: -1,
    ttl_days: 0,
  });
  assertInvalid(answer, "key", "mime", "size", "ttl_days");
  assert.deepEqual(await listed(planner), []);
});

import assert from "node:assert/strict";
import { messageOf } from "../../../supabase/functions/_shared/request/error_body.ts";
import {
  parsePostgrestError,
  type PostgrestError,
  serviceErrorOf,
} from "../../../supabase/functions/_shared/data/postgrest_error.ts";

function postgrestError(
  code: string,
  { message = "m", details = "", hint = "" } = {},
): PostgrestError {
  return { code, message, details, hint };
}

Deno.test("serviceErrorOf() a domain error → its code, with its detail as details", () => {
  const plain = serviceErrorOf(postgrestError("PT409", { message: "upload_missing" }), 409);
  assert.equal(plain.code, "upload_missing");
  assert.equal(plain.details, undefined);
  const detailed = serviceErrorOf(
    postgrestError("PT422", { message: "invalid_request", details: '{"issues": []}' }),
    422,
  );
  assert.deepEqual(detailed.details, { issues: [] });
});

Deno.test("serviceErrorOf() a domain error with a hint → the hint is its message; without one, the catalogue's sentence", () => {
  const hint = "The two share no active rule. Put one with /acl/put.";
  const hinted = serviceErrorOf(postgrestError("PT404", { message: "peer_not_found", hint }), 404);
  assert.equal(hinted.code, "peer_not_found");
  assert.equal(messageOf(hinted), hint);
  const plain = serviceErrorOf(postgrestError("PT404", { message: "peer_not_found" }), 404);
  assert.match(messageOf(plain), /^There is no such peer\./);
});

Deno.test("serviceErrorOf() any other error with a hint → a message without it: it may be PostgreSQL's own", () => {
  for (const code of ["42501", "23505", "PGRST202"]) {
    const error = serviceErrorOf(
      postgrestError(code, { hint: "Perhaps you meant agents.keys" }),
      400,
    );
    assert.ok(!error.message.includes("agents.keys"), code);
  }
});

Deno.test("serviceErrorOf() of an answer of PostgREST or the gateway that refuses the key → says so", () => {
  const answers: [code: string, status: number][] = [
    ["PGRST301", 401],
    ["PGRST302", 401],
    ["PGRST303", 401],
    ["", 401],
    ["", 403],
  ];
  for (const [code, status] of answers) {
    const { message } = serviceErrorOf(postgrestError(code), status);
    assert.match(message, /rejects the secret key/, code);
    assert.match(message, /Deploy the functions again/, code);
    assert.ok(!message.includes("migrations"), code);
  }
});

Deno.test("serviceErrorOf() an SQL function that is not there → tells to apply the migrations", () => {
  const { message } = serviceErrorOf(postgrestError("PGRST202"), 404);
  assert.match(message, /Apply the migrations\.$/);
});

const MAPPED: Record<string, readonly [code: string, status: number][]> = {
  upstream_unavailable: [
    ["40P01", 500],
    ["55P03", 500],
    ["57014", 500],
    ["57P03", 503],
    ["53300", 503],
    ["08006", 503],
    ["PGRST000", 503],
    ["PGRST003", 504],
    ["", 0],
    ["", 429],
    ["", 500],
    ["", 503],
    ["", 544],
  ],
  misconfigured: [["PGRST202", 404], ["PGRST301", 401], ["PGRST302", 401], ["", 401], ["", 403]],
  internal: [["23505", 409], ["42501", 403], ["PT409", 409], ["", 400]],
};

for (const [expected, answers] of Object.entries(MAPPED)) {
  Deno.test(`serviceErrorOf() ${answers.map(([code]) => code || "no code").join(", ")} → ${expected}`, () => {
    for (const [code, status] of answers) {
      const error = serviceErrorOf(
        postgrestError(code, { message: "duplicate key value" }),
        status,
      );
      assert.equal(error.code, expected, code);
      assert.equal(error.message.includes("duplicate"), false);
      assert.equal(error.details, undefined);
    }
  });
}

Deno.test("serviceErrorOf() of an answer without code and message → upstream_unavailable, for every status", () => {
  for (const status of [0, 400, 401, 403, 404, 409, 500, 503]) {
    const error = serviceErrorOf(postgrestError("", { message: "" }), status);
    assert.equal(error.code, "upstream_unavailable", String(status));
  }
});

Deno.test("parsePostgrestError() a body that is not PostgREST's → no code", () => {
  for (const body of ["", "<html>", "null", "[]", '"text"', '{"error": {"code": 7}, "code": 7}']) {
    assert.deepEqual(parsePostgrestError(body), {
      code: "",
      message: "",
      details: null,
      hint: null,
    });
  }
});

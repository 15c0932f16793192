import assert from "node:assert/strict";
import { type PostgrestClient, PostgrestError } from "@supabase/postgrest-js";
import {
  createCallDatabase,
  serviceErrorOf,
} from "../../supabase/functions/_shared/upstream/database.ts";
import { ServiceError } from "../../supabase/functions/_shared/errors.ts";

function postgrestError(
  code: string,
  { message = "m", details = "", hint = "" } = {},
): PostgrestError {
  return new PostgrestError({ code, message, details, hint });
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
  assert.equal(hinted.message, hint);
  const plain = serviceErrorOf(postgrestError("PT404", { message: "peer_not_found" }), 404);
  assert.match(plain.message, /^There is no such peer\./);
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

Deno.test("serviceErrorOf() what PostgREST or the gateway answers to a key that it does not take → tells of the key", () => {
  const answers: [code: string, status: number][] = [
    ["PGRST301", 401],
    ["PGRST302", 401],
    ["PGRST303", 401],
    ["", 401],
    ["", 403],
  ];
  for (const [code, status] of answers) {
    const { message } = serviceErrorOf(postgrestError(code), status);
    assert.match(message, /does not take the key/, code);
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

/** A client that gives these answers, one per call. */
function clientAnswering(...answers: object[]): { client: PostgrestClient; calls: () => number } {
  let calls = 0;
  const rpc = () => Promise.resolve(answers[calls++]);
  return { client: { rpc } as unknown as PostgrestClient, calls: () => calls };
}

const DEADLOCK = { data: null, error: postgrestError("40P01"), status: 500 };

Deno.test("callDatabase() repeats a deadlocked call once, and answers with what came then", async () => {
  const { client, calls } = clientAnswering(DEADLOCK, { data: { n: 1 }, error: null, status: 200 });
  assert.deepEqual(await createCallDatabase(client)("f", {}), { n: 1 });
  assert.equal(calls(), 2);
});

Deno.test("callDatabase() deadlocked twice → upstream_unavailable", async () => {
  const { client, calls } = clientAnswering(DEADLOCK, DEADLOCK, DEADLOCK);
  const error = await createCallDatabase(client)("f", {}).catch((thrown: unknown) => thrown);
  assert.equal(error instanceof ServiceError && error.code, "upstream_unavailable");
  assert.equal(calls(), 2);
});

Deno.test("callDatabase() does not repeat what the database has decided", async () => {
  const { client, calls } = clientAnswering({
    data: null,
    error: postgrestError("PT404", { message: "artifact_not_found" }),
    status: 404,
  });
  const error = await createCallDatabase(client)("f", {}).catch((thrown: unknown) => thrown);
  assert.equal(error instanceof ServiceError && error.code, "artifact_not_found");
  assert.equal(calls(), 1);
});

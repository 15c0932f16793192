import assert from "node:assert/strict";
import { type PostgrestClient, PostgrestError } from "@supabase/postgrest-js";
import { createCallDatabase, serviceErrorOf } from "../../supabase/functions/_shared/database.ts";
import { ServiceError } from "../../supabase/functions/_shared/errors.ts";

function postgrestError(code: string, message = "m", details = ""): PostgrestError {
  return new PostgrestError({ code, message, details, hint: "" });
}

Deno.test("serviceErrorOf() a domain error → its code, with its detail as details", () => {
  const plain = serviceErrorOf(postgrestError("PT409", "upload_missing"), 409);
  assert.equal(plain.code, "upload_missing");
  assert.equal(plain.details, undefined);
  const detailed = serviceErrorOf(
    postgrestError("PT422", "invalid_request", '{"issues": []}'),
    422,
  );
  assert.deepEqual(detailed.details, { issues: [] });
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
  misconfigured: [["PGRST202", 404], ["PGRST301", 401], ["", 401], ["", 403]],
  internal: [["23505", 409], ["42501", 403], ["PT409", 409], ["", 400]],
};

for (const [expected, answers] of Object.entries(MAPPED)) {
  Deno.test(`serviceErrorOf() ${answers.map(([code]) => code || "no code").join(", ")} → ${expected}`, () => {
    for (const [code, status] of answers) {
      const error = serviceErrorOf(postgrestError(code, "duplicate key value"), status);
      assert.equal(error.code, expected, code);
      assert.equal(error.message.includes("duplicate"), false);
      assert.equal(error.details, undefined);
    }
  });
}

/** A client whose answers come from a list, one a call. */
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
    error: postgrestError("PT404", "artifact_not_found"),
    status: 404,
  });
  const error = await createCallDatabase(client)("f", {}).catch((thrown: unknown) => thrown);
  assert.equal(error instanceof ServiceError && error.code, "artifact_not_found");
  assert.equal(calls(), 1);
});

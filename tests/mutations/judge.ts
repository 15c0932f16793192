/** Whether an answer to a mutated request keeps the contract. */
import assert from "node:assert/strict";
import { errorEntry, isErrorCode } from "../../supabase/functions/_shared/errors.ts";
import { assertDescribed } from "../conformance/client.ts";
import type { Mutant } from "./mutants.ts";

/** Throws unless it is no 5xx, and is what the OpenAPI document and the catalogue of errors say. */
export async function assertKeepsContract(mutant: Mutant, response: Response): Promise<void> {
  const { status, headers } = response;
  const text = await response.clone().text();
  assert.ok(status < 500, `${status} ${text}`);
  assert.equal(headers.get("cache-control"), "no-store");
  const requestId = headers.get("x-request-id") ?? "";
  assert.match(requestId, /^[A-Za-z0-9._:-]{1,64}$/);
  await assertDescribed(mutant, response);
  if (status < 400) return;

  assert.equal(headers.get("content-type"), "application/json");
  const { error, ...others } = JSON.parse(text);
  assert.deepEqual(others, {});
  const { code, message, retryable, request_id, details: _, ...unknown } = error;
  assert.deepEqual(unknown, {});
  assert.ok(isErrorCode(code), `unknown code ${code}`);
  assert.equal(errorEntry(code).status, status);
  assert.equal(retryable, errorEntry(code).retryAfterSeconds !== undefined);
  assert.match(message, /^[A-Z].*\.$/s);
  assert.equal(request_id, requestId);
}

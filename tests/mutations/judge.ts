/** Checks that an answer to a mutated request keeps the contract. */
import assert from "node:assert/strict";
import { errorEntry, isErrorCode } from "../../supabase/functions/_shared/request/errors.ts";
import { assertDescribed } from "../conformance/client.ts";
import type { Mutant } from "./mutants.ts";

/** JSON-RPC's code for an internal error, like HTTP's 500. */
const INTERNAL_ERROR = -32_603;

/** Throws if the answer is a 5xx, or contradicts the OpenAPI document or the error catalogue. */
export async function assertKeepsContract(mutant: Mutant, response: Response): Promise<void> {
  const { status, headers } = response;
  const text = await response.clone().text();
  assert.ok(status < 500, `${status} ${text}`);
  assert.equal(headers.get("cache-control"), "no-store");
  const requestId = headers.get("x-request-id") ?? "";
  assert.match(requestId, /^[A-Za-z0-9._:-]{1,64}$/);
  if (isMessage(text)) return assertKeepsProtocol(mutant, text);
  await assertDescribed(mutant, response);
  // An error page for people has no error code.
  if (status < 400 || headers.get("content-type")?.startsWith("text/html")) return;

  assert.equal(headers.get("content-type"), "application/json");
  if (isTokenRequest(mutant)) return assertKeepsOAuth(text);
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

function isTokenRequest({ method, path }: Mutant): boolean {
  return method === "POST" && /\/token(?:\?|$)/.test(path);
}

/** Throws unless the answer is an error of RFC 6749, 5.2, that blames only the request. */
function assertKeepsOAuth(text: string): void {
  const { error, error_description, ...unknown } = JSON.parse(text);
  assert.deepEqual(unknown, {});
  assert.match(error, /^(?:invalid_request|invalid_grant|unsupported_grant_type)$/);
  assert.match(error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
}

/** Whether the answer is an MCP message, which has its own errors. */
function isMessage(text: string): boolean {
  return text.startsWith("{") && "jsonrpc" in JSON.parse(text);
}

/** Throws unless the message is one result or one error of JSON-RPC, and not an internal error. */
function assertKeepsProtocol({ path }: Mutant, text: string): void {
  assert.match(path, /^\/agent-(artifacts|mesh)\/mcp(\?|$)/);
  const { jsonrpc, id: _, result, error, ...unknown } = JSON.parse(text);
  assert.deepEqual({ jsonrpc, unknown }, { jsonrpc: "2.0", unknown: {} });
  assert.notEqual(result === undefined, error === undefined, text);
  if (error !== undefined) {
    assert.ok(Number.isInteger(error.code) && error.code !== INTERNAL_ERROR, text);
    assert.equal(typeof error.message, "string");
  }
  if (result?.isError !== true) return;
  const failure = JSON.parse(result.content[0].text).error;
  assert.ok(isErrorCode(failure.code), `unknown code ${failure.code}`);
  assert.ok(errorEntry(failure.code).status < 500, text);
}

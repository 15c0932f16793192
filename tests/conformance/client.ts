/** The service under test, known only by a URL and keys, as its callers know it. */
import assert from "node:assert/strict";
import { DescribedFunction } from "./described_answers.ts";
import { writeAtEnd } from "./fields/answered_fields.ts";

/** Origin of the project under test. */
export const SUPABASE_URL = required("SUPABASE_URL").replace(/\/$/, "");
export const SECRET_KEY = required("SUPABASE_SECRET_KEY");
/** Keys that some deployments do not have or tell. Tests that need a missing key are skipped. */
export const PUBLISHABLE_KEY = Deno.env.get("SUPABASE_PUBLISHABLE_KEY");
export const SERVICE_ROLE_KEY = Deno.env.get("SUPABASE_SERVICE_ROLE_KEY");
export const ANON_KEY = Deno.env.get("SUPABASE_ANON_KEY");

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** The format of every timestamp in an answer: ISO 8601, UTC, with milliseconds and Z. */
export const ISO_TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export interface Answer<AnswerBody = JsonObject> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnswerBody;
}

/** An agent created for one test, with a unique id. */
export interface Agent {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

/** The sender of a request: an agent, the operator (secret key), nobody, or any `headers`. */
export type Sender = Agent | "operator" | "nobody" | { readonly headers: Record<string, string> };

export function functionUrl(path: string): string {
  return `${SUPABASE_URL}/functions/v1${path}`;
}

/** Headers that identify a sender. */
export function headersOf(sender: Sender): Record<string, string> {
  if (sender === "nobody") return {};
  if (sender === "operator") return { apikey: SECRET_KEY };
  if ("headers" in sender) return sender.headers;
  return { authorization: `Bearer ${sender.key}` };
}

/** POSTs `body` as JSON to a path such as /agent-artifacts/register. */
export function post<AnswerBody = JsonObject>(
  path: string,
  { as, body = {}, headers = {} }: { as: Sender; body?: unknown; headers?: Record<string, string> },
): Promise<Answer<AnswerBody>> {
  return send<AnswerBody>(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headersOf(as), ...headers },
  });
}

/** Sends any request to a function and reads its answer, which must be JSON. */
export async function send<AnswerBody = JsonObject>(
  path: string,
  request: RequestInit,
): Promise<Answer<AnswerBody>> {
  const response = await fetchDescribed(path, request);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === "" ? null : JSON.parse(text)) as AnswerBody,
  };
}

/** `fetch` of a function. Fails unless the function's OpenAPI document describes the answer. */
export async function fetchDescribed(path: string, request: RequestInit): Promise<Response> {
  const response = await fetch(functionUrl(path), request);
  await assertDescribed({ method: request.method ?? "GET", path }, response);
  return response;
}

/** Fails unless the OpenAPI document of the deployment's function describes the answer. */
export async function assertDescribed(
  { method, path }: { readonly method: string; readonly path: string },
  response: Response,
): Promise<void> {
  const { pathname } = new URL(functionUrl(path));
  const [, name, below] = /^\/functions\/v1\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
  const described = name === undefined ? null : await describedFunction(name);
  if (described === null || below === undefined) return;
  const text = await response.clone().text();
  described.assertDescribed({ method, path: below }, {
    status: response.status,
    headers: response.headers,
    text,
  });
}

const describedFunctions = new Map<string, Promise<DescribedFunction | null>>();

/** Fetched once; null if there is no such function, so that the gateway answers. */
function describedFunction(name: string): Promise<DescribedFunction | null> {
  const known = describedFunctions.get(name) ?? fetchDescription(name);
  describedFunctions.set(name, known);
  return known;
}

async function fetchDescription(name: string): Promise<DescribedFunction | null> {
  const response = await fetch(functionUrl(`/${name}/openapi.json`));
  if (response.status === 200) {
    const described = new DescribedFunction(await response.json());
    writeAtEnd(name, described.fields);
    return described;
  }
  await response.body?.cancel();
  return null;
}

/** Like `post`, but any status other than 200 fails the test. */
export async function succeed<AnswerBody = JsonObject>(
  path: string,
  request: { as: Sender; body?: unknown },
): Promise<AnswerBody> {
  const answer = await post<AnswerBody>(path, request);
  assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Calls one of the operator's SQL functions, by its name without the prefix, through PostgREST. */
export async function operatorRpc<AnswerBody = JsonObject>(
  functionName: string,
  parameters: JsonObject,
): Promise<Answer<AnswerBody>> {
  const response = await fetch(`${SUPABASE_URL}/rest/v1/rpc/agent_api_${functionName}`, {
    method: "POST",
    headers: {
      apikey: SECRET_KEY,
      "content-type": "application/json",
      // The deployment's default schema may be another one.
      "content-profile": "public",
    },
    body: JSON.stringify(parameters),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Creates an agent with a key. Its id is `name` and a random suffix. */
export async function createAgent(name: string): Promise<Agent> {
  const id = `${name}-${crypto.randomUUID().slice(0, 13)}`;
  const created = await operatorRpc<{ key: string; key_id: string }>("create_agent_key", {
    agent_id: id,
  });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  createdIds.add(id);
  return { id, key: created.body.key, keyId: created.body.key_id };
}

const createdIds = new Set<string>();

/** Removes all agents created since the last call, with everything they have. */
export async function endCreatedAgents(): Promise<void> {
  for (const agent_id of createdIds) await operatorRpc("remove_agent", { agent_id });
  createdIds.clear();
}

const RETRYABLE = ["commit_in_progress", "rate_limited", "upstream_unavailable"];

interface ErrorBody extends JsonObject {
  error: {
    code: string;
    message: string;
    retryable: boolean;
    request_id: string;
    details: JsonObject;
  };
}

/** Asserts that `answer` is this error in the usual error envelope. Returns its details. */
export function assertError(answer: Answer<unknown>, status: number, code: string): JsonObject {
  const { error } = answer.body as ErrorBody;
  assert.equal(`${answer.status} ${error?.code}`, `${status} ${code}`, JSON.stringify(answer.body));
  assert.equal(typeof error.message, "string");
  assert.equal(/^[A-Z].*\.$/s.test(error.message), true, `not a sentence: ${error.message}`);
  assert.equal(error.retryable, RETRYABLE.includes(code));
  assert.equal(error.request_id, answer.headers.get("x-request-id"));
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal(
    Object.keys(error).every((name) =>
      ["code", "message", "retryable", "request_id", "details"].includes(name)
    ),
    true,
  );
  return error.details;
}

/** Asserts 422 invalid_request with issues for exactly these fields. */
export function assertInvalid(answer: Answer<unknown>, ...fields: string[]): void {
  const { issues } = assertError(answer, 422, "invalid_request") as unknown as {
    issues: { path: string; message: string }[];
  };
  assert.equal(issues.map((issue) => issue.path).sort().join(), fields.sort().join());
  for (const issue of issues) assert.equal(typeof issue.message, "string");
}

function required(name: string): string {
  const value = Deno.env.get(name);
  if (!value) throw new Error(`Set ${name}: the conformance suite runs against a deployment.`);
  return value;
}

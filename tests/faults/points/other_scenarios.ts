/** Scenarios of the paths that are no operations: those of both functions, and links. */
import assert from "node:assert/strict";
import { type ErrorCode, errorEntry } from "../../../supabase/functions/_shared/request/errors.ts";
import { open, publish, redeem } from "../../conformance/artifacts.ts";
import {
  type Agent,
  type Answer,
  assertError,
  createAgent,
  headersOf,
  SUPABASE_URL,
} from "../../conformance/client.ts";
import { jwtSecret } from "../../../packages/local/tests/storage/own_bucket.ts";
import { join, netmapOf, ruleBetween } from "../../conformance/mesh_cast.ts";
import { newName } from "../../users/signed_in.ts";
import { bySecret, claimsOf, written } from "../../users/written_token.ts";
import { newName as newRun, whoami } from "../../conformance/enrolment/enrolments.ts";
import { arrangeOneDownload } from "../../operations/artifacts/arrangements.ts";
import {
  assertOneLiveKey,
  AUDIENCE,
  putTrust,
  secondGeneration,
} from "../../operations/shared/enrolment/arrangements.ts";
import type { Asked, FunctionName, Scenario } from "./scenario.ts";

const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

/** The part of an MCP tool result that describes an error. */
interface ToolError {
  readonly error: { readonly code: ErrorCode; readonly retryable: boolean };
}

/** A tool call, as a client without a session sends it. */
function toolCall(agent: Agent, name: string, given: object): Asked {
  return {
    as: {
      headers: {
        ...headersOf(agent),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
    },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
  };
}

/**
 * Turns a tool result that is an error into the answer of HTTP. `retryable` becomes retry-after.
 */
function unwrapToolResult(answer: Answer<unknown>): Answer<unknown> {
  const { result } = answer.body as {
    result?: { isError?: boolean; content: readonly { text: string }[] };
  };
  if (result?.isError !== true) return answer;
  const body: ToolError = JSON.parse(result.content[0]!.text);
  const { status, retryAfterSeconds } = errorEntry(body.error.code);
  const headers = new Headers(answer.headers);
  if (body.error.retryable) headers.set("retry-after", String(retryAfterSeconds));
  return { status, headers, body };
}

function mcpScenario(scenario: Pick<Scenario, "functionName" | "arrange">): Scenario {
  return { path: "/mcp", settled: ["200"], unwrap: unwrapToolResult, ...scenario };
}

/** Converts an OAuth error (RFC 6749, 5.2) of /enroll into the service's own form. */
function unwrapOAuthError({ status, headers, body }: Answer<unknown>): Answer<unknown> {
  const { error } = body as { error?: string };
  if (error === undefined) return { status, headers, body };
  const code = error === "temporarily_unavailable" ? "upstream_unavailable" : error;
  return { status, headers, body: { error: { code } } };
}

/** A request by a user whose token Auth itself must verify on each request. */
function userScenario(functionName: FunctionName): Scenario {
  return {
    functionName,
    path: "/whoami",
    situation: "by a user",
    // The address of Auth in the token. The function only has the address of its proxy.
    environment: { PUBLIC_SUPABASE_URL: SUPABASE_URL },
    settled: ["200"],
    async arrange() {
      const header = { alg: "HS256", typ: "JWT" };
      const signer = bySecret(await jwtSecret());
      const token = written(claimsOf(newName("ada").id), { header, signer });
      return { request: { method: "GET", as: { headers: { authorization: `Bearer ${token}` } } } };
    },
  };
}

export const OTHER_SCENARIOS: readonly Scenario[] = [
  ...FUNCTIONS.flatMap((functionName): Scenario[] => [
    {
      functionName,
      path: "/health",
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { method: "GET", as: "nobody" } }),
    },
    {
      functionName,
      path: "/whoami",
      settled: ["200"],
      async arrange() {
        return { request: { method: "GET", as: await createAgent("asker") } };
      },
    },
    userScenario(functionName),
    {
      functionName,
      path: "/token",
      settled: ["200"],
      unwrap: unwrapOAuthError,
      async arrange() {
        const { issuer } = await putTrust();
        const sub = newRun("run");
        const body = new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: await issuer.sign({ aud: AUDIENCE, sub }),
        });
        return { request: { as: "nobody", body }, holds: () => assertOneLiveKey(sub) };
      },
    },
    {
      functionName,
      path: "/whoami",
      situation: "by a new generation",
      settled: ["200"],
      async arrange() {
        const { first, second } = await secondGeneration();
        return {
          request: { method: "GET", as: second },
          async holds() {
            assert.equal((await whoami(first)).status, 401);
          },
        };
      },
    },
    {
      functionName,
      path: "/metrics",
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { method: "GET", as: "operator" } }),
    },
  ]),
  mcpScenario({
    functionName: "agent-artifacts",
    async arrange() {
      const owner = await createAgent("owner");
      const { artifact_id } = await publish(owner);
      return {
        request: toolCall(owner, "delete", { artifact_id }),
        holds: async () =>
          void assertError(await open(owner, { artifact_id }), 410, "artifact_expired"),
      };
    },
  }),
  mcpScenario({
    functionName: "agent-mesh",
    async arrange() {
      const [one, other] = await Promise.all([createAgent("one"), createAgent("other")]);
      await join(other);
      const rule = ruleBetween(one, other);
      return {
        request: toolCall(one, "acl_put", rule),
        holds: async () =>
          assert.deepEqual((await netmapOf(other)).acl_requests, [
            { ...rule, waiting_for: other.id },
          ]),
      };
    },
  }),
  {
    functionName: "agent-artifacts",
    path: "/d/:grant_token",
    situation: "of a grant for one download",
    // If the answer was lost, the download has still been counted.
    settled: ["302", "410 grant_used_up"],
    async arrange() {
      const { token, holds } = await arrangeOneDownload();
      return { request: { method: "GET", path: `/d/${token}`, as: "nobody" }, holds };
    },
  },
  {
    functionName: "agent-artifacts",
    path: "/d/:grant_token",
    situation: "whether it leads anywhere",
    settled: ["302"],
    // An answer to HEAD has no error code.
    unwrap: (answer) =>
      answer.status === 503
        ? { ...answer, body: { error: { code: "upstream_unavailable" } } }
        : answer,
    async arrange() {
      const { token } = await arrangeOneDownload();
      const request = { method: "HEAD", path: `/d/${token}`, as: "nobody" } as const;
      return { request, holds: async () => assert.equal((await redeem(token)).status, 200) };
    },
  },
];

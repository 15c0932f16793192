/** Scenarios of both functions. */
import assert from "node:assert/strict";
import { type ErrorCode, errorEntry } from "../../../supabase/functions/_shared/errors.ts";
import { open, publish } from "../../conformance/artifacts.ts";
import {
  type Agent,
  type Answer,
  assertError,
  createAgent,
  headersOf,
  succeed,
  SUPABASE_URL,
} from "../../conformance/client.ts";
import { jwtSecret } from "../../storage/own_bucket.ts";
import { join, netmapOf, ruleBetween } from "../../conformance/mesh_cast.ts";
import { newName } from "../../users/signed_in.ts";
import { bySecret, claimsOf, written } from "../../users/written_token.ts";
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

/**
 * Both functions have the same waiting code, so only one of them waits at each fault. Only a
 * waiting request makes this call.
 */
export const WAITING = { functionName: "agent-artifacts", call: "read_news" } as const;

/** The waiter has a peer, so that the request is a heartbeat as well. */
function waitScenario(functionName: FunctionName): Scenario {
  // The service polls for changes once a second, starting a second after it records the heartbeat.
  const wait = functionName === WAITING.functionName ? { wait_seconds: 2 } : {};
  return {
    functionName,
    path: "/wait",
    settled: ["200"],
    async arrange() {
      const waiter = await createAgent("waiter");
      await join(waiter);
      const { config_version } = await netmapOf(waiter);
      const inbox = await succeed<{ latest: string }>("/agent-artifacts/inbox", { as: waiter });
      const body = { config_version, inbox_after: inbox.latest, ...wait };
      return {
        request: { as: waiter, body },
        holds: async () => assert.equal((await netmapOf(waiter)).peers[0]?.online, true),
      };
    },
  };
}

export const COMMON_SCENARIOS: readonly Scenario[] = [
  ...FUNCTIONS.flatMap((functionName): Scenario[] => [
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
      path: "/metrics",
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { method: "GET", as: "operator" } }),
    },
    {
      functionName,
      path: "/events",
      settled: ["200"],
      async arrange() {
        const asker = await createAgent("asker");
        return { request: { as: asker, body: { agent_id: asker.id } } };
      },
    },
    waitScenario(functionName),
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
];

import assert from "node:assert/strict";
import {
  type Agent,
  assertError,
  createAgent,
  endCreatedAgents,
  functionUrl,
  headersOf,
  operatorRpc,
  send,
} from "../client.ts";
import { assertUnauthenticated } from "../credentials.ts";
import { assertToolError, connect, DIALECTS, type FunctionName, mcpUrl } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

const LIST_TOOLS = { jsonrpc: "2.0", id: 1, method: "tools/list" };

/** POSTs any body to /mcp of agent-artifacts; the answer is an error in the usual envelope. */
function postRaw(body: string, headers: Record<string, string>) {
  return send("/agent-artifacts/mcp", {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
  });
}

/** POSTs one message of protocol version 2026-07-28 to /mcp of agent-artifacts. */
function postMessage(agent: Agent, method: string, params: object = {}): Promise<Response> {
  return fetch(mcpUrl("agent-artifacts"), {
    method: "POST",
    headers: {
      ...headersOf(agent),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "a-host", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
}

for (const name of FUNCTIONS) {
  for (const dialect of DIALECTS) {
    Deno.test(`a client of ${dialect} at ${name} → its name, its instructions, and its tools`, async () => {
      await using client = await connect(name, await createAgent("planner"), { dialect });
      assert.equal(client.sdk.getServerVersion()?.name, name);
      assert.ok(client.sdk.getInstructions()?.includes("retryable"));
      const { tools } = await client.sdk.listTools();
      const used = name === "agent-mesh" ? ["acl_put", "netmap"] : ["put", "get", "inbox"];
      for (const tool of used) assert.ok(tools.some((listed) => listed.name === tool), tool);
    });
  }

  for (const method of ["GET", "DELETE", "PUT"]) {
    Deno.test(`${method} /mcp of ${name} → 405`, async () => {
      const answer = await send(`/${name}/mcp`, {
        method,
        headers: headersOf(await createAgent("planner")),
      });
      assertError(answer, 405, "method_not_allowed");
      assert.equal(answer.headers.get("allow"), "POST, OPTIONS");
    });
  }
}

Deno.test("POST /mcp from a page of any origin → 403, with a credential and without", async () => {
  const planner = await createAgent("planner");
  for (const credential of [headersOf(planner), {}]) {
    for (const origin of ["https://evil.example", "http://localhost", "null", ""]) {
      const headers = { ...credential, origin };
      assertError(await postRaw(JSON.stringify(LIST_TOOLS), headers), 403, "forbidden");
    }
  }
});

Deno.test("POST /mcp without a credential, or with what cannot be one → 401", async () => {
  for (const headers of [{}, { authorization: "Bearer ak_short" }, { apikey: "wrong" }]) {
    const answer = await postRaw(JSON.stringify(LIST_TOOLS), headers as Record<string, string>);
    assertUnauthenticated(answer);
  }
});

Deno.test("a tool called with a revoked key → the result is unauthenticated", async () => {
  const planner = await createAgent("planner");
  await using client = await connect("agent-artifacts", planner);
  await operatorRpc("revoke_agent_keys", { agent_id: planner.id });
  assertToolError(await client.call("list", { agent_id: planner.id }), "unauthenticated");
});

Deno.test("POST /mcp with what is no JSON object, several messages among it → 400", async () => {
  const headers = headersOf(await createAgent("planner"));
  for (const body of ["{", '"text"', JSON.stringify([LIST_TOOLS, LIST_TOOLS])]) {
    assertError(await postRaw(body, headers), 400, "invalid_json");
  }
});

Deno.test("POST /mcp of more than 64 KiB → 413", async () => {
  const body = JSON.stringify({ ...LIST_TOOLS, params: { text: "x".repeat(64 * 1024) } });
  const answer = await postRaw(body, headersOf(await createAgent("planner")));
  assertError(answer, 413, "body_too_large");
});

Deno.test("POST /mcp of another content type → 415: no page can send it without asking first", async () => {
  const response = await fetch(mcpUrl("agent-artifacts"), {
    method: "POST",
    headers: {
      ...headersOf(await createAgent("planner")),
      "content-type": "text/plain",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(LIST_TOOLS),
  });
  assert.equal(response.status, 415);
  await response.body?.cancel();
});

Deno.test("a tool that is not there → -32602; so is one that only the operator's commands call", async () => {
  for (const as of [await createAgent("planner"), "operator"] as const) {
    await using artifacts = await connect("agent-artifacts", as);
    await using mesh = await connect("agent-mesh", as);
    for (const tool of ["no_such_tool", "sweep", "register", "open"]) {
      await assert.rejects(artifacts.call(tool), { code: -32602 });
    }
    await assert.rejects(mesh.call("psk_keys"), { code: -32602 });
  }
});

Deno.test("server/discover → both versions, tools and resources, and nothing that is not there", async () => {
  const response = await postMessage(await createAgent("planner"), "server/discover");
  assert.equal(response.status, 200);
  const { result } = await response.json();
  assert.ok(result.supportedVersions.includes("2026-07-28"));
  assert.deepEqual(Object.keys(result.capabilities).sort(), ["extensions", "resources", "tools"]);
});

Deno.test("subscriptions/listen → an error at once: no stream stays open", async () => {
  const response = await postMessage(await createAgent("planner"), "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  const { error } = await response.json();
  assert.equal(error.code, -32603);
});

Deno.test("an answer of /mcp → JSON, not to be kept, with a request id", async () => {
  const response = await postMessage(await createAgent("planner"), "tools/list");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.match(response.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  assert.ok((await response.json()).result.tools.length > 0);
});

Deno.test("the OPTIONS of a page → answered; what it may send then is for POST to say", async () => {
  const response = await fetch(functionUrl("/agent-artifacts/mcp"), {
    method: "OPTIONS",
    headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
  });
  assert.equal(response.status, 204);
});

/** The forms in which hosts speak the protocol, beside those of the official clients. */
import assert from "node:assert/strict";
import { type Agent, createAgent, endCreatedAgents, headersOf } from "../client.ts";
import { type FunctionName, mcpUrl } from "./mcp_client.ts";

Deno.test.afterEach(endCreatedAgents);

const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

interface Reply {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

async function send(
  name: FunctionName,
  agent: Agent,
  message: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const response = await fetch(mcpUrl(name), {
    method: "POST",
    headers: {
      ...headersOf(agent),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  assert.equal(response.headers.get("content-type"), "application/json");
  return { status: response.status, body: await response.json() };
}

const LIST = { method: "tools/list" };

function initialize(protocolVersion: string): object {
  const clientInfo = { name: "a-host", version: "1" };
  return { method: "initialize", params: { protocolVersion, capabilities: {}, clientInfo } };
}

for (const name of FUNCTIONS) {
  Deno.test(`${name}/mcp with any Accept → JSON, as nothing else is answered`, async () => {
    const agent = await createAgent("planner");
    for (const accept of ["*/*", "application/json", "application/*", "text/event-stream", "a/b"]) {
      for (const message of [LIST, initialize("2025-11-25")]) {
        const { status, body } = await send(name, agent, message, { accept });
        assert.equal(status, 200, accept);
        assert.ok(body.result, accept);
      }
    }
  });

  Deno.test(`${name}/mcp, initialize with a newer version, in the header too → the newest that both may speak`, async () => {
    const agent = await createAgent("planner");
    for (const version of ["2026-07-28", "2099-01-01"]) {
      for (const headers of [{}, { "mcp-protocol-version": version }]) {
        const { status, body } = await send(name, agent, initialize(version), headers as never);
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal(body.result.protocolVersion, "2025-11-25");
      }
    }
    for (const version of ["2024-11-05", "2025-06-18", "2025-11-25"]) {
      const { body } = await send(name, agent, initialize(version));
      assert.equal(body.result.protocolVersion, version);
    }
  });

  Deno.test(`${name}/mcp with a header of an unknown version → 400 with those that are supported`, async () => {
    const agent = await createAgent("planner");
    const { status, body } = await send(name, agent, LIST, {
      "mcp-protocol-version": "2099-01-01",
    });
    assert.equal(status, 400);
    assert.equal(body.error.data.requested, "2099-01-01");
    for (const version of ["2026-07-28", "2025-11-25"]) {
      assert.ok(body.error.data.supported.includes(version));
    }
  });

  Deno.test(`${name}/mcp with params, _meta, cursor or arguments of null, and arguments as a text → as if left out, or as its JSON`, async () => {
    const agent = await createAgent("planner");
    for (const params of [null, { cursor: null }, { cursor: "" }, { _meta: null }]) {
      const { body } = await send(name, agent, { ...LIST, params });
      assert.ok(body.result?.tools.length > 0, JSON.stringify(body));
    }
    for (const given of [undefined, null, "", "{}", '{"limit": 1}', { limit: 1 }]) {
      const params = { name: "events", arguments: given };
      const { body } = await send(name, agent, { method: "tools/call", params });
      assert.equal(body.result?.isError ?? false, false, JSON.stringify(body));
      assert.deepEqual(JSON.parse(body.result.content[0].text).events.slice(1), []);
    }
    for (const given of ["[]", "5", "limit=1", [], 5]) {
      const params = { name: "events", arguments: given };
      const { body } = await send(name, agent, { method: "tools/call", params });
      assert.ok(body.error, JSON.stringify(body));
    }
  });
}

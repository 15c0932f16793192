import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { givenGrants, inbox, listed } from "../../../../tests/conformance/artifacts.ts";
import {
  createAgent,
  type JsonObject,
  SUPABASE_URL,
} from "../../../../tests/conformance/client.ts";
import { AgentHost, serverOf } from "./agent_host.ts";

/** The message of a call that was refused as wrong use. */
async function refusalOf(host: AgentHost, tool: string, given: object): Promise<string> {
  const { isError, body } = await host.client.call<{ error: { code: string; message: string } }>(
    tool,
    given,
  );
  assert.equal(isError, true, JSON.stringify(body));
  assert.equal(body.error.code, "usage");
  return body.error.message;
}

Deno.test("agentfiles mcp: a tool with an unknown field → refused with the one that was meant, and nothing is sent", async () => {
  await using planner = await AgentHost.of("planner");
  const { id } = await createAgent("builder");
  await writeFile(planner.path("plan.txt"), "1");
  const calls: readonly [tool: string, given: JsonObject, message: string][] = [
    [
      "put_file",
      { path: "plan.txt", to_agent: id },
      "Unknown field: to_agent. Did you mean to?",
    ],
    ["put_file", { path: "plan.txt", ttl: 1 }, "Unknown field: ttl. Did you mean ttl_days?"],
    ["list", { prefx: "a" }, "Unknown field: prefx. Did you mean prefix?"],
    ["inbox", { from: id }, "Unknown field: from. Did you mean from_agent?"],
    ["whoami", { agent: id }, "Unknown field: agent."],
  ];
  for (const [tool, given, message] of calls) {
    assert.equal(await refusalOf(planner, tool, given), message);
  }
  assert.deepEqual(await listed(planner.agent as never), []);
  await planner.client.succeed("put_file", { path: "plan.txt" });
  assert.equal(
    await refusalOf(planner, "link", { key: "plan.txt", downloads: 1 }),
    "Unknown field: downloads. Did you mean max_downloads?",
  );
  assert.match(
    await refusalOf(planner, "share", { key: "plan.txt", to: [id], to_tag: "tag:x", days: "x" }),
    /^Unknown field: to_tag\. Did you mean to_tags\? days: /,
  );
  assert.deepEqual((await givenGrants(planner.agent as never)).grants, []);
});

Deno.test("agentfiles mcp: null, empty texts and JSON texts → as they are meant; texts stay as they are", async () => {
  await using planner = await AgentHost.of("planner");
  const builder = await createAgent("builder");
  await writeFile(planner.path("plan.txt"), "1");
  await planner.client.succeed("put_file", {
    path: "plan.txt",
    key: "null",
    to: JSON.stringify([builder.id]),
    to_tags: null,
    mime: "",
    ttl_days: "3",
    exclude: [],
    gitignore: false,
  });
  const [artifact] = await listed(planner.agent as never);
  assert.deepEqual([artifact?.key, artifact?.ttl_days], ["null", 3]);
  assert.deepEqual((await inbox(builder)).map(({ key }) => key), ["null"]);
  const unset = { prefix: null, limit: "" };
  assert.equal(
    (await planner.client.succeed<{ artifacts: [] }>("list", unset)).artifacts.length,
    1,
  );
  await planner.client.succeed("inbox", { from_agent: "", after: "", limit: null });
  await planner.client.succeed("get_file", {
    artifact_id: null,
    key: "null",
    from_agent: null,
    path: "got",
    overwrite: "false",
    extract: null,
  });
  assert.equal(await readFile(planner.path("got"), "utf8"), "1");
  assert.match(await refusalOf(planner, "put_file", { path: "" }), /^path: /);
  assert.match(await refusalOf(planner, "put_file", { path: null }), /^path: /);
});

Deno.test("agentfiles mcp: arguments, params and cursor of null, and arguments as a text → as if left out, or as its JSON", async () => {
  const transport = new StdioClientTransport(serverOf(await createAgent("planner"), SUPABASE_URL));
  const answers = new Map<unknown, (message: JSONRPCMessage) => void>();
  transport.onmessage = (message) => answers.get((message as { id?: unknown }).id)?.(message);
  await transport.start();
  async function ask(id: number, method: string, params: unknown): Promise<JsonObject> {
    const answer = new Promise<JSONRPCMessage>((resolve) => answers.set(id, resolve));
    await transport.send({ jsonrpc: "2.0", id, method, params } as unknown as JSONRPCMessage);
    const message = await answer as unknown as { result?: JsonObject };
    assert.ok(message.result, JSON.stringify(message));
    return message.result;
  }
  try {
    await ask(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a-host", version: "1" },
    });
    const list = await ask(2, "tools/list", { cursor: null });
    assert.doesNotMatch(JSON.stringify(list), /9007199254740991|\$schema/);
    for (const [id, given] of [[3, null], [4, ""], [5, "{}"], [6, undefined]] as const) {
      const { isError } = await ask(id, "tools/call", { name: "whoami", arguments: given });
      assert.notEqual(isError, true);
    }
    const called = await ask(7, "tools/call", { name: "list", arguments: '{"prefx": ""}' });
    assert.match(JSON.stringify(called), /Unknown field: prefx/);
  } finally {
    await transport.close();
  }
});

/** The extension io.modelcontextprotocol/tasks (SEP-2663): what hand_over began, as a task. */
import assert from "node:assert/strict";
import { artifactTest, publish, revoke } from "../artifacts.ts";
import { type Agent, createAgent, headersOf, type JsonObject, operatorRpc } from "../client.ts";
import { take, tell } from "../tasks/tasks.ts";
import { mcpUrl } from "./mcp_client.ts";

const TASKS = "io.modelcontextprotocol/tasks";
const VERSION = "2026-07-28";

interface Reply {
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Sends a message as a host does that polls tasks; or as one that knows nothing of them. */
async function send(
  as: Agent,
  method: string,
  params: JsonObject,
  { extensions = { [TASKS]: {} }, named }: { extensions?: object; named?: string } = {},
): Promise<Reply> {
  const name = named ?? String(params["name"] ?? params["taskId"] ?? "");
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "a-host", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { extensions },
  };
  const response = await fetch(mcpUrl("agent-artifacts"), {
    method: "POST",
    headers: {
      ...headersOf(as),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(name !== "" && { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  return await response.json();
}

async function handOver(as: Agent, terms: JsonObject): Promise<JsonObject> {
  const { artifact_id } = await publish(as);
  const params = { name: "hand_over", arguments: { artifact_id, ...terms } };
  const { result } = await send(as, "tools/call", params);
  assert.equal(result.resultType, "task", JSON.stringify(result));
  return result;
}

async function taskOf(as: Agent, taskId: unknown): Promise<Reply["result"]> {
  const { result, error } = await send(as, "tasks/get", { taskId: String(taskId) });
  assert.equal(error, undefined, JSON.stringify(error));
  assert.equal(result.resultType, "complete");
  return result;
}

artifactTest(
  "hand_over of a host that polls tasks → a task: working, then completed, with the grant of the reply",
  async ({ planner, builder }) => {
    const { result: discovered } = await send(planner, "server/discover", {});
    assert.deepEqual(discovered.capabilities.extensions, { [TASKS]: {} });

    const begun = await handOver(planner, { to_agent: builder.id, note: "Build it." });
    const { taskId, createdAt, ttlMs, pollIntervalMs } = begun;
    assert.match(String(taskId), /^grant_[0-9a-f]{32}$/);
    assert.deepEqual([begun["status"], "token" in begun], ["working", false]);
    assert.ok(!Number.isNaN(Date.parse(String(createdAt))));
    assert.ok(Number(ttlMs) > 0 && Number(pollIntervalMs) >= 1000);
    assert.deepEqual(
      [(await taskOf(planner, taskId)).status, (await taskOf(planner, taskId)).statusMessage],
      ["working", "Nobody has taken it yet."],
    );

    const [task] = await take(builder);
    assert.equal((await taskOf(planner, taskId)).statusMessage, `${builder.id} works on it.`);
    const { artifact_id } = await publish(builder);
    const done = await tell(builder, "done", { take_id: task!.take_id, reply: { artifact_id } });
    const { status, result } = await taskOf(planner, taskId);
    assert.equal(status, "completed");
    const { grant_id, state, taken_by, reply_grant_id } = JSON.parse(result.content[0].text);
    assert.deepEqual([grant_id, state, taken_by], [taskId, "done", builder.id]);
    assert.equal(reply_grant_id, (done.body["reply"] as JsonObject)["grant_id"]);
    assert.deepEqual(result.structuredContent, JSON.parse(result.content[0].text));
    assert.notEqual(result.isError, true);
  },
);

artifactTest(
  "tasks/get without the header mcp-name → as with it; with another task's, or an unknown task → an error",
  async ({ planner, builder }) => {
    const { taskId } = await handOver(planner, { to_agent: builder.id });
    const get = (id: unknown, named: string) =>
      send(planner, "tasks/get", { taskId: String(id) }, { named });
    assert.equal((await get(taskId, "")).result.status, "working");
    const other = `grant_${"0".repeat(32)}`;
    assert.match((await get(taskId, other)).error!.message, /mcp-name/i);
    for (const unknown of [other, "ä", "a\nb", ""]) {
      assert.notEqual((await get(unknown, "")).error, undefined, unknown);
    }
    assert.equal((await taskOf(planner, taskId)).status, "working");
  },
);

artifactTest(
  "a task that is parked → completed with isError and its reason: `failed` is for errors of the protocol",
  async ({ planner, builder }) => {
    const { taskId } = await handOver(planner, { to_agent: builder.id });
    const [task] = await take(builder);
    await tell(builder, "fail", { take_id: task!.take_id, reason: "No roof.", final: true });
    const { status, result } = await taskOf(planner, taskId);
    assert.deepEqual([status, result.isError], ["completed", true]);
    assert.equal(result.structuredContent, undefined);
    assert.equal(JSON.parse(result.content[0].text).reason, "No roof.");
  },
);

artifactTest(
  "a task of each agent of a tag → working until nobody is left, then how many are done",
  async ({ planner, builder, stranger }) => {
    const tag = `tag:crew-${builder.id.slice(-8).toLowerCase()}`;
    for (const { id: agent_id } of [builder, stranger]) {
      await operatorRpc("set_agent_tags", { agent_id, tags: [tag] });
    }
    const { taskId } = await handOver(planner, { to_tag: tag });
    for (const worker of [builder, stranger]) {
      assert.equal((await taskOf(planner, taskId)).status, "working");
      const [task] = await take(worker);
      await tell(worker, "done", { take_id: task!.take_id });
    }
    const { status, result } = await taskOf(planner, taskId);
    assert.deepEqual([status, JSON.parse(result.content[0].text).tasks], [
      "completed",
      { waiting: 0, taken: 0, done: 2, parked: 0 },
    ]);
  },
);

artifactTest(
  "tasks/cancel → the grant ends, and nobody can work on it; of a task that is done → it stays done",
  async ({ planner, builder }) => {
    const first = await handOver(planner, { to_agent: builder.id });
    const second = await handOver(planner, { to_agent: builder.id });
    await tell(builder, "done", { grant_id: String(first["taskId"]) });
    for (const { taskId } of [first, second]) {
      const { error } = await send(planner, "tasks/cancel", { taskId: String(taskId) });
      assert.equal(error, undefined);
    }
    assert.equal((await taskOf(planner, first["taskId"])).status, "completed");
    assert.equal((await taskOf(planner, second["taskId"])).status, "cancelled");
    assert.deepEqual(await take(builder), []);
  },
);

artifactTest(
  "tasks/get, tasks/update and tasks/cancel of somebody else's task, of none, and without the capability → refused, and nothing changes",
  async ({ planner, builder, stranger }) => {
    const { taskId } = await handOver(planner, { to_agent: builder.id });
    const known = { taskId: String(taskId) };
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      for (const as of [builder, stranger]) {
        assert.equal((await send(as, method, known)).error?.code, -32602, method);
      }
      const unknown = await send(planner, method, { taskId: "nothing" });
      assert.equal(unknown.error?.code, -32602, method);
      const undeclared = await send(planner, method, known, { extensions: {} });
      assert.match(undeclared.error?.message ?? "", /capabilit/i, method);
    }
    assert.equal((await taskOf(planner, taskId)).status, "working");
    assert.equal((await send(planner, "tasks/update", known)).error, undefined);
    // A revocation by another way is the same to the host.
    await revoke(planner, { grant_id: String(taskId) });
    assert.equal((await taskOf(planner, taskId)).status, "cancelled");
  },
);

artifactTest(
  "hand_over of a host that knows no tasks → its answer, as before; an error is no task",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    const call = (to_agent: string) => ({
      name: "hand_over",
      arguments: { artifact_id, to_agent },
    });
    const { result } = await send(planner, "tools/call", call(builder.id), { extensions: {} });
    assert.equal(result.resultType, "complete");
    assert.match(result.structuredContent.grant_id, /^grant_/);
    const refused = await send(planner, "tools/call", call("-nobody"));
    assert.deepEqual([refused.result.resultType, refused.result.isError], ["complete", true]);
    // A misspelled name is not silent.
    const { id } = await createAgent("nobody");
    const misspelled = await send(planner, "tools/call", call(`${id}-x`));
    assert.match(misspelled.result.statusMessage, /check its spelling/);
  },
);

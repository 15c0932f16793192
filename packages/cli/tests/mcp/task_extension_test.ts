/** The extension io.modelcontextprotocol/tasks (SEP-2663): what hand_over began, as a task. */
import assert from "node:assert/strict";
import { Client, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio";
import * as z from "zod";
import { givenGrants, publish, revoke } from "../../../../tests/conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  type JsonObject,
  operatorRpc,
  SUPABASE_URL,
} from "../../../../tests/conformance/client.ts";
import { take, tell } from "../../../../tests/conformance/tasks/tasks.ts";
import { serverOf } from "./agent_host.ts";

const EXTENSIONS = { "io.modelcontextprotocol/tasks": {} };
const INFO = { name: "a-host", version: "1" };
const ANY = z.looseObject({});

// deno-lint-ignore no-explicit-any
type Answer = any;

/** The SDK's client refuses the results of an extension that it does not know. */
class ExtendedTransport extends StdioClientTransport {
  constructor(server: ReturnType<typeof serverOf>) {
    super(server);
    let deliver: this["onmessage"];
    Object.defineProperty(this, "onmessage", {
      get: () => deliver && ((message: JSONRPCMessage) => deliver!(settled(message))),
      set: (onmessage: this["onmessage"]) => deliver = onmessage,
    });
  }
}

/** A task, with the type of its result where the client keeps it. */
function settled(message: JSONRPCMessage): JSONRPCMessage {
  const { result } = message as { result?: JsonObject };
  if (result?.["resultType"] !== "task") return message;
  const told = { ...result, resultType: "complete", saidType: "task" };
  return { ...message, result: told } as unknown as JSONRPCMessage;
}

interface Host extends AsyncDisposable {
  /** Throws the errors of the protocol. */
  readonly send: (method: string, params?: object) => Promise<Answer>;
  /** What the server says that it can do. */
  readonly capabilities: Answer;
}

interface HostOptions {
  readonly dialect?: "2026-07-28" | "2025-11-25" | "SDK 1.x";
  readonly extensions?: object;
}

async function open(
  agent: Agent,
  { dialect = "2026-07-28", extensions = EXTENSIONS }: HostOptions = {},
): Promise<Host> {
  const server = serverOf(agent, SUPABASE_URL);
  const capabilities = { extensions } as object;
  if (dialect === "SDK 1.x") {
    const client = new OldClient(INFO, { capabilities });
    await client.connect(new OldStdioTransport(server));
    return {
      send: (method, params = {}) => client.request({ method, params } as never, ANY as never),
      capabilities: client.getServerCapabilities(),
      [Symbol.asyncDispose]: () => client.close(),
    };
  }
  const mode = dialect === "2025-11-25" ? "legacy" : { pin: dialect };
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode } });
  await client.connect(new ExtendedTransport(server));
  assert.equal(client.getNegotiatedProtocolVersion(), dialect);
  return {
    send: (method, params = {}) => client.request({ method, params } as never, ANY),
    capabilities: client.getServerCapabilities(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

interface Cast {
  readonly planner: Agent;
  readonly builder: Agent;
}

async function cast(): Promise<Cast> {
  return { planner: await createAgent("planner"), builder: await createAgent("builder") };
}

async function callOf({ planner, builder }: Cast, terms: JsonObject = {}): Promise<object> {
  const { artifact_id } = await publish(planner);
  return { name: "hand_over", arguments: { artifact_id, to_agent: builder.id, ...terms } };
}

/** Hands over a file. Returns the task's id. */
async function begin(host: Host, agents: Cast, terms: JsonObject = {}): Promise<string> {
  const begun = await host.send("tools/call", await callOf(agents, terms));
  assert.equal(begun.saidType, "task", JSON.stringify(begun));
  assert.deepEqual([begun.status, "token" in begun], ["working", false]);
  return begun.taskId;
}

Deno.test("agentfiles mcp: hand_over of a host that polls tasks → working, then completed, with the grant of the reply", async () => {
  const agents = await cast();
  const { planner, builder } = agents;
  await using host = await open(planner);
  assert.deepEqual(host.capabilities.extensions, EXTENSIONS);
  const taskId = await begin(host, agents, { note: "Build it." });
  const waiting = await host.send("tasks/get", { taskId });
  assert.deepEqual(
    [waiting.taskId, waiting.status, waiting.statusMessage],
    [taskId, "working", "Nobody has taken it yet."],
  );
  assert.ok(waiting.ttlMs > 0 && waiting.pollIntervalMs >= 1000);
  assert.equal((await givenGrants(planner)).grants[0]!.grant_id, taskId);

  const [task] = await take(builder);
  const taken = await host.send("tasks/get", { taskId });
  assert.deepEqual([taken.status, taken.statusMessage], ["working", `${builder.id} works on it.`]);
  const { artifact_id } = await publish(builder);
  const done = await tell(builder, "done", { take_id: task!.take_id, reply: { artifact_id } });
  const { status, result } = await host.send("tasks/get", { taskId });
  assert.deepEqual([status, result.resultType, result.isError], [
    "completed",
    "complete",
    undefined,
  ]);
  const body = JSON.parse(result.content[0].text);
  assert.deepEqual(result.structuredContent, body);
  assert.deepEqual(
    [body.grant_id, body.state, body.taken_by, body.reply_grant_id],
    [taskId, "done", builder.id, (done.body["reply"] as JsonObject)["grant_id"]],
  );
});

Deno.test("agentfiles mcp: a parked task → completed with isError and its reason; one of a tag → how many are done", async () => {
  const agents = await cast();
  const { planner, builder } = agents;
  await using host = await open(planner);
  const parked = await begin(host, agents);
  const [task] = await take(builder);
  await tell(builder, "fail", { take_id: task!.take_id, reason: "No roof.", final: true });
  const { status, result } = await host.send("tasks/get", { taskId: parked });
  assert.deepEqual([status, result.isError, result.structuredContent], [
    "completed",
    true,
    undefined,
  ]);
  assert.equal(JSON.parse(result.content[0].text).reason, "No roof.");

  const tag = `tag:crew-${builder.id.slice(-8).toLowerCase()}`;
  await operatorRpc("set_agent_tags", { agent_id: builder.id, tags: [tag] });
  const { artifact_id } = await publish(planner);
  const given = { artifact_id, to_tag: tag };
  const { taskId } = await host.send("tools/call", { name: "hand_over", arguments: given });
  await tell(builder, "done", { take_id: (await take(builder))[0]!.take_id });
  const ended = await host.send("tasks/get", { taskId });
  assert.deepEqual(JSON.parse(ended.result.content[0].text).tasks, {
    waiting: 0,
    taken: 0,
    done: 1,
    parked: 0,
  });
});

Deno.test("agentfiles mcp: tasks/cancel → the grant ends, and nobody can work on it; of a task that is done → it stays done", async () => {
  const agents = await cast();
  const { planner, builder } = agents;
  await using host = await open(planner);
  const first = await begin(host, agents);
  const second = await begin(host, agents);
  await tell(builder, "done", { grant_id: first });
  for (const taskId of [first, second]) await host.send("tasks/cancel", { taskId });
  assert.equal((await host.send("tasks/get", { taskId: first })).status, "completed");
  assert.equal((await host.send("tasks/get", { taskId: second })).status, "cancelled");
  assert.deepEqual(await take(builder), []);
  // A revocation by another way is the same to the host.
  const third = await begin(host, agents);
  await revoke(planner, { grant_id: third });
  assert.equal((await host.send("tasks/get", { taskId: third })).status, "cancelled");
});

Deno.test("agentfiles mcp: tasks/get, tasks/update and tasks/cancel of somebody else's task, of none, and without the capability → refused, and nothing changes", async () => {
  const agents = await cast();
  await using host = await open(agents.planner);
  await using other = await open(agents.builder);
  await using undeclared = await open(agents.planner, { extensions: {} });
  const taskId = await begin(host, agents);
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    await assert.rejects(other.send(method, { taskId }), { code: -32602 }, method);
    await assert.rejects(host.send(method, { taskId: "nothing" }), { code: -32602 }, method);
    await assert.rejects(undeclared.send(method, { taskId }), { code: -32021 }, method);
  }
  assert.equal((await host.send("tasks/get", { taskId })).status, "working");
  await host.send("tasks/update", { taskId });
});

Deno.test("agentfiles mcp: hand_over that is refused, or to a misspelled name → no task with an error; the task tells of the name", async () => {
  const agents = await cast();
  await using host = await open(agents.planner);
  const refused = await host.send("tools/call", await callOf(agents, { to_agent: "-nobody" }));
  assert.deepEqual([refused.saidType, refused.isError], [undefined, true]);
  assert.deepEqual((await givenGrants(agents.planner)).grants, []);
  const misspelled = { to_agent: `${agents.builder.id}-x` };
  const { statusMessage } = await host.send("tools/call", await callOf(agents, misspelled));
  assert.match(statusMessage, /check its spelling/);
});

const OTHER_HOSTS: readonly (readonly [name: string, options: HostOptions])[] = [
  ["2026-07-28 without the capability", { extensions: {} }],
  ["2025-11-25, whatever it declares", { dialect: "2025-11-25" }],
  ["SDK 1.x, whatever it declares", { dialect: "SDK 1.x" }],
];

for (const [name, options] of OTHER_HOSTS) {
  Deno.test(`agentfiles mcp: hand_over of a host of ${name} → its answer, as before, and no methods of tasks`, async () => {
    const agents = await cast();
    await using host = await open(agents.planner, options);
    const isOlder = options.dialect !== undefined;
    if (isOlder) assert.equal(host.capabilities.extensions, undefined);
    const { structuredContent, saidType, taskId } = await host.send(
      "tools/call",
      await callOf(agents),
    );
    assert.match(structuredContent.grant_id, /^grant_/);
    assert.deepEqual([saidType, taskId], [undefined, undefined]);
    const get = host.send("tasks/get", { taskId: structuredContent.grant_id });
    await assert.rejects(get, { code: isOlder ? -32601 : -32021 });
  });
}

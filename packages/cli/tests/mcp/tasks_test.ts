import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import type { CalledTool } from "../../../../tests/conformance/mcp/mcp_client.ts";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import { lapseIn, type Row, tasksOf } from "../../../agent-files/tests/tasks/hand_over.ts";
import { collect, filesOf, registeredKeys } from "../../../agent-files/tests/cast.ts";
import { AgentHost, serverOf } from "./agent_host.ts";

interface Taken {
  readonly take_id: string;
  readonly grant_id: string;
  readonly path: string;
  readonly note?: string;
  readonly reply_to?: string;
  readonly attempt: number;
}

/** The code of a failed call's error. */
function codeOf({ isError, body }: CalledTool<unknown>): string {
  assert.equal(isError, true, JSON.stringify(body));
  return (body as { error: { code: string } }).error.code;
}

/** Uploads a text, and hands it over. Returns the grant's id. */
async function handOver(planner: AgentHost, builder: AgentHost, terms = {}): Promise<string> {
  await writeFile(planner.path("plan.txt"), "four walls");
  const { artifact_id } = await planner.client.succeed("put_file", { path: "plan.txt" });
  const given = { artifact_id, to_agent: builder.agent.id, ...terms };
  return String((await planner.client.succeed("hand_over", given))["grant_id"]);
}

async function takeOne({ client }: AgentHost, given = {}): Promise<Taken> {
  const { task } = await client.succeed<{ task: Taken | null }>("take", given);
  assert.ok(task !== null);
  return task;
}

async function rowsOf({ agent }: AgentHost): Promise<Row[]> {
  return await tasksOf(clientOf(agent));
}

/** As the tests of the library name an agent. */
function clientOf(agent: AgentHost["agent"]): Parameters<typeof tasksOf>[0] {
  return { agent, files: filesOf(agent) } as Parameters<typeof tasksOf>[0];
}

async function stateOf(host: AgentHost): Promise<string[]> {
  return (await rowsOf(host)).map(({ state, attempt }) => `${state} ${attempt}`);
}

Deno.test("hand_over, take, done with a reply → the file at a path, and its answer, between two models that have only tools", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  const waiting = takeOne(builder, { wait_seconds: 50 });
  const grant_id = await handOver(planner, builder, { note: "Build it." });
  const { take_id, path, ...task } = await waiting;
  assert.deepEqual([task.grant_id, task.note, task.attempt], [grant_id, "Build it.", 1]);
  assert.equal(await readFile(builder.path(path), "utf8"), "four walls");
  assert.equal(path, `inbox/${planner.agent.id}/plan.txt`);

  await writeFile(builder.path("house.txt"), "a house");
  const answer = { take_id, reply: "house.txt", note: "Here it is." };
  const done = await builder.client.succeed("done", answer);
  assert.deepEqual([done["grant_id"], done["state"]], [grant_id, "done"]);
  // The same again, as after a lost answer.
  assert.deepEqual(await builder.client.succeed("done", answer), done);
  assert.deepEqual(await registeredKeys(builder.agent), ["replies/house.txt"]);

  const reply = await takeOne(planner);
  assert.deepEqual([reply.note, reply.reply_to], ["Here it is.", grant_id]);
  assert.equal(await readFile(planner.path(reply.path), "utf8"), "a house");
  assert.equal((await builder.client.succeed("take"))["task"], null);
  assert.equal((await builder.client.succeed("take", { wait_seconds: 1 }))["task"], null);
});

Deno.test("hand_over repeated with its idempotency_key → one task; of another file → refused", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await writeFile(planner.path("plan.txt"), "four walls");
  const put = (key: string) => planner.client.succeed("put_file", { path: "plan.txt", key });
  const [plan, other] = [await put("plan.txt"), await put("other.txt")];
  const terms = { to_agent: builder.agent.id, idempotency_key: "plan-17" };
  const handOver = (artifact_id: unknown) =>
    planner.client.call("hand_over", { artifact_id, ...terms });
  const first = await handOver(plan["artifact_id"]);
  const again = await handOver(plan["artifact_id"]);
  assert.deepEqual(
    [again.body["grant_id"], first.body["repeated"], again.body["repeated"]],
    [first.body["grant_id"], undefined, true],
  );
  assert.equal(codeOf(await handOver(other["artifact_id"])), "idempotency_conflict");
  const grants = await collect(filesOf(planner.agent).grants());
  assert.deepEqual(grants.map(({ grant_id }) => grant_id), [first.body["grant_id"]]);
});

Deno.test("take, fail → waits again with its reason; with final → parked", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await handOver(planner, builder);
  const first = await takeOne(builder);
  const again = { take_id: first.take_id, reason: "No wood.", retry_after_seconds: 0 };
  assert.equal((await builder.client.succeed("fail", again))["state"], "waiting");
  const second = await takeOne(builder);
  assert.deepEqual([second.attempt, second.path], [2, first.path]);
  const final = { take_id: second.take_id, reason: "No roof.", final: true };
  assert.equal((await builder.client.succeed("fail", final))["state"], "parked");
  assert.deepEqual(
    (await rowsOf(builder)).map(({ state, reason }) => [state, reason]),
    [["parked", "No roof."]],
  );
});

Deno.test("take → renewed while the server runs; given back when it ends", async () => {
  await using planner = await AgentHost.of("planner");
  const builder = await AgentHost.of("builder");
  try {
    await handOver(planner, builder);
    // Renewed after a third of this.
    const { take_id } = await takeOne(builder, { seconds: 30 });
    await lapseIn(clientOf(builder.agent), 14);
    await askUntil(
      (answer: { taken_until: number }) => answer.taken_until > Date.now() + 20_000,
      async () => {
        const [grant] = await collect(filesOf(planner.agent).grants());
        return { taken_until: Date.parse(String(grant?.taken_until)) };
      },
    );
    assert.deepEqual(await stateOf(builder), ["taken 1"]);
    assert.match(take_id, /^take_/);
  } finally {
    await builder[Symbol.asyncDispose]();
  }
  assert.deepEqual(
    (await rowsOf(builder)).map(({ state, is_ready }) => [state, is_ready]),
    [["waiting", true]],
  );
});

Deno.test("a host that only closes standard input → the task is given back, and the server ends by itself", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await handOver(planner, builder);
  const { command, args, env } = serverOf(builder.agent, SUPABASE_URL);
  const server = new Deno.Command(command, {
    args,
    env,
    cwd: builder.folder,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = server.stdin.getWriter();
  const send = (message: object) =>
    input.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  const clientInfo = { name: "a-host", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  await send({ id: 1, method: "initialize", params });
  await send({ method: "notifications/initialized" });
  await send({ id: 2, method: "tools/call", params: { name: "take", arguments: {} } });
  const output = server.stdout.pipeThrough(new TextDecoderStream());
  let written = "";
  for await (const text of output.values({ preventCancel: true })) {
    written += text;
    if (written.includes("take_")) break;
  }
  assert.deepEqual(await stateOf(builder), ["taken 1"]);
  await input.close();
  const { code, signal } = await server.status;
  assert.deepEqual([code, signal], [0, null]);
  await output.cancel();
  assert.deepEqual(
    (await rowsOf(builder)).map(({ state, is_ready }) => [state, is_ready]),
    [["waiting", true]],
  );
});

Deno.test("done and fail of a take that lapsed → take_lapsed; the other taker's task, and the giver's inbox, stay as they were", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await handOver(planner, builder);
  const { take_id } = await takeOne(builder);
  await lapseIn(clientOf(builder.agent), 0);
  // Another process of the agent.
  await using other = await AgentHost.for(builder.agent);
  const theirs = await takeOne(other);
  await writeFile(builder.path("house.txt"), "a house");
  const late = { take_id, reply: "house.txt" };
  assert.equal(codeOf(await builder.client.call("done", late)), "take_lapsed");
  assert.equal(codeOf(await builder.client.call("done", { take_id })), "take_lapsed");
  assert.equal(codeOf(await builder.client.call("fail", { take_id, reason: "." })), "take_lapsed");
  // A take of another process.
  const foreign = { take_id: theirs.take_id };
  assert.equal(codeOf(await builder.client.call("done", foreign)), "take_lapsed");
  assert.deepEqual(await stateOf(builder), ["taken 2"]);
  assert.deepEqual((await planner.client.succeed("inbox"))["grants"], []);
  // What was uploaded before the refusal is deleted.
  assert.deepEqual((await builder.client.succeed("list"))["artifacts"], []);
  await other.client.succeed("done", foreign);
});

Deno.test("hand_over, take, done that are refused → nothing is granted, taken, ended or uploaded", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await writeFile(planner.path("plan.txt"), "1");
  const { artifact_id } = await planner.client.succeed("put_file", { path: "plan.txt" });
  const to_agent = builder.agent.id;
  for (const given of [{}, { to_agent, to_tag: "tag:crew" }]) {
    const refused = await planner.client.call("hand_over", { artifact_id, ...given });
    assert.equal(codeOf(refused), "usage");
  }
  for (const given of [{ to_agent, deliver: "one" }, { to_agent: "bad agent!" }]) {
    const refused = await planner.client.call("hand_over", { artifact_id, ...given });
    assert.equal(codeOf(refused), "invalid_request");
  }
  assert.deepEqual((await builder.client.succeed("inbox"))["grants"], []);

  await handOver(planner, builder);
  await symlink("/tmp", builder.path("out"));
  for (const folder of ["../up", "out"]) {
    assert.equal(codeOf(await builder.client.call("take", { folder })), "failed");
  }
  assert.equal(codeOf(await builder.client.call("take", { seconds: 5 })), "usage");
  assert.equal(codeOf(await builder.client.call("take", { limit: 5 })), "usage");
  const [grant] = await collect(filesOf(planner.agent).grants());
  assert.deepEqual([grant!.state, grant!.attempt], ["waiting", 0]);

  const { take_id } = await takeOne(builder);
  assert.equal(codeOf(await builder.client.call("done", { take_id, note: "." })), "usage");
  const outside = { take_id, reply: "../house.txt" };
  assert.equal(codeOf(await builder.client.call("done", outside)), "failed");
  assert.equal(codeOf(await builder.client.call("done", { take_id, reply: "none" })), "failed");
  assert.deepEqual(await stateOf(builder), ["taken 1"]);
  assert.deepEqual(await registeredKeys(builder.agent), []);
});

Deno.test("take of a file that cannot be saved → the error; the task waits again", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await handOver(planner, builder);
  await builder.client.call("take", { folder: "../up" });
  await writeFile(builder.path("jobs"), "a file is in the way");
  assert.equal(codeOf(await builder.client.call("take", { folder: "jobs" })), "failed");
  await Deno.mkdir(builder.path("inbox"));
  await writeFile(builder.path(`inbox/${planner.agent.id}`), "a file is in the way");
  assert.equal(codeOf(await builder.client.call("take")), "failed");
  const [row, ...others] = await rowsOf(builder);
  assert.deepEqual(
    [row!.state, row!.attempt, row!.reason, row!.is_ready, others.length],
    ["waiting", 1, "Its file could not be saved.", true, 0],
  );
});

import assert from "node:assert/strict";
import { artifactTest, inbox, open, publish } from "../artifacts.ts";
import { type Agent, operatorRpc } from "../client.ts";
import { statesOf, take, type Task, workOf } from "../tasks/tasks.ts";
import { assertToolError, connect, type McpClient } from "./mcp_client.ts";

interface Granted {
  readonly grant_id: string;
}

/** A text of the planner, handed over as work. Returns the grant's id. */
async function handOver(client: McpClient, terms: object, text = "four walls"): Promise<string> {
  const { artifact_id } = await client.succeed("put", { key: "plans/house.txt", text });
  const granted = await client.succeed<Granted>("hand_over", { artifact_id, ...terms });
  assert.equal("token" in granted, false);
  return granted.grant_id;
}

async function takeOne(client: McpClient, given: object = {}): Promise<Task> {
  const { tasks: [task, ...others] } = await client.succeed<{ tasks: Task[] }>("take", given);
  assert.ok(task !== undefined && others.length === 0);
  return task;
}

artifactTest(
  "hand_over, take, get, put, done → work and its answer, between two models that have only tools",
  async ({ planner, builder }) => {
    await using giver = await connect("agent-artifacts", planner);
    await using worker = await connect("agent-artifacts", builder);
    const grant_id = await handOver(giver, { to_agent: builder.id, note: "Build it." });

    const { take_id, artifact_id, ...task } = await takeOne(worker, { wait_seconds: 20 });
    assert.deepEqual(
      [task.grant_id, task.from_agent, task.key, task.note, task.attempt],
      [grant_id, planner.id, "plans/house.txt", "Build it.", 1],
    );
    assert.equal(
      (await worker.succeed("get", { artifact_id, inline: true }))["text"],
      "four walls",
    );
    const built = await worker.succeed("put", { key: "houses/1.txt", text: "a house" });
    const reply = { artifact_id: built["artifact_id"], note: "Here it is." };
    const done = await worker.succeed("done", { take_id, reply });
    assert.deepEqual([done["grant_id"], done["state"]], [grant_id, "done"]);
    // The same again, as after a lost answer.
    assert.deepEqual(await worker.succeed("done", { take_id, reply }), done);

    const answer = await takeOne(giver);
    assert.deepEqual([answer.note, answer.reply_to], ["Here it is.", grant_id]);
    const read = { artifact_id: answer.artifact_id, inline: true };
    assert.equal((await giver.succeed("get", read))["text"], "a house");
    assert.deepEqual((await worker.succeed("take"))["tasks"], []);
  },
);

artifactTest(
  "hand_over to a tag for one of its agents, answering a grant → one gets it; fail → parked, with its reason",
  async ({ planner, builder, stranger }) => {
    const tag = `tag:crew-${builder.id.slice(-8).toLowerCase()}`;
    for (const { id: agent_id } of [builder, stranger]) {
      await operatorRpc("set_agent_tags", { agent_id, tags: [tag] });
    }
    await using giver = await connect("agent-artifacts", planner);
    await using worker = await connect("agent-artifacts", builder);
    const reply_to = await handOver(giver, { to_agent: builder.id });
    await worker.succeed("done", { grant_id: reply_to });
    const terms = { to_tag: tag, deliver: "one", max_attempts: 1, reply_to };
    const grant_id = await handOver(giver, terms, "a roof");

    const { take_id, ...task } = await takeOne(worker);
    assert.deepEqual([task.grant_id, task.reply_to], [grant_id, reply_to]);
    assert.deepEqual(await take(stranger), []);
    const failed = await worker.succeed("fail", { take_id, reason: "Too high." });
    assert.deepEqual(failed, { grant_id, state: "parked", next_at: null });
    const { grants } = await giver.succeed<{ grants: (Granted & { reason: string })[] }>("grants");
    assert.equal(grants.find((given) => given.grant_id === grant_id)!.reason, "Too high.");
  },
);

artifactTest(
  "done and fail of a take that has ended → take_lapsed; the task, its answer and the inboxes stay as they were",
  async ({ planner, builder }) => {
    await using giver = await connect("agent-artifacts", planner);
    await using worker = await connect("agent-artifacts", builder);
    await handOver(giver, { to_agent: builder.id });
    const { take_id: late } = await takeOne(worker);
    await worker.succeed("fail", { take_id: late, reason: "Not yet.", retry_after_seconds: 0 });
    const { take_id } = await takeOne(worker);

    const { artifact_id } = await publish(builder, { key: "house" });
    const before = await workOf(planner);
    const lateDone = { take_id: late, reply: { artifact_id } };
    assertToolError(await worker.call("done", lateDone), "take_lapsed");
    assertToolError(await worker.call("done", { take_id: "take_x" }), "take_lapsed");
    const lateFail = { take_id: `take_${"0".repeat(32)}`, reason: "No.", final: true };
    assertToolError(await worker.call("fail", lateFail), "take_lapsed");
    // Somebody else's take is none of the caller's.
    assertToolError(await giver.call("done", { take_id }), "take_lapsed");
    assertToolError(await giver.call("fail", { take_id, reason: "No." }), "take_lapsed");
    assert.deepEqual(await workOf(planner), before);
    assert.deepEqual(await inbox(planner), []);
    assert.deepEqual(await statesOf(builder), ["taken 2"]);
    await worker.succeed("done", { take_id });
  },
);

artifactTest(
  "hand_over, take, done, fail that are refused → nothing is granted, taken or ended",
  async ({ planner, builder, stranger }) => {
    await using giver = await connect("agent-artifacts", planner);
    await using worker = await connect("agent-artifacts", builder);
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    const refused = (given: object) => giver.call("hand_over", { artifact_id, ...given });
    for (
      const given of [
        { note: "For nobody." },
        { to_agent: builder.id, to_tag: "tag:crew" },
        { to_agent: builder.id, deliver: "one" },
        { to_agent: builder.id, max_attempts: 0 },
        { to_agent: builder.id, attempts: 2 },
        { to_agent: builder.id, note: "x".repeat(2001) },
      ]
    ) {
      assertToolError(await refused(given), "invalid_request");
    }
    const reply_to = `grant_${"0".repeat(32)}`;
    assertToolError(await refused({ to_agent: builder.id, reply_to }), "grant_not_found");
    await using other = await connect("agent-artifacts", stranger);
    const theirs = { artifact_id, to_agent: stranger.id };
    assertToolError(await other.call("hand_over", theirs), "artifact_not_found");
    assert.deepEqual((await giver.succeed("grants"))["grants"], []);
    await assertUnseen([builder, stranger]);

    const grant_id = await handOver(giver, { to_agent: builder.id });
    assertToolError(await worker.call("take", { seconds: 5 }), "invalid_request");
    assertToolError(await worker.call("take", { agent_id: planner.id }), "forbidden");
    assertToolError(await other.call("done", { grant_id }), "grant_not_found");
    assertToolError(await worker.call("done"), "invalid_request");
    assert.deepEqual(await statesOf(builder), ["waiting 0"]);
    const { take_id } = await takeOne(worker);
    assertToolError(await worker.call("fail", { take_id, reason: "" }), "invalid_request");
    const notMine = { take_id, reply: { artifact_id } };
    assertToolError(await worker.call("done", notMine), "artifact_not_found");
    assert.deepEqual(await statesOf(builder), ["taken 1"]);
    assert.deepEqual(await inbox(planner), []);
    assert.equal((await open(planner, artifact)).status, 200);
  },
);

async function assertUnseen(agents: readonly Agent[]): Promise<void> {
  for (const agent of agents) {
    assert.deepEqual([await inbox(agent), await take(agent)], [[], []]);
  }
}

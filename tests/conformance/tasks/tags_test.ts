import assert from "node:assert/strict";
import { artifactTest, type Cast, grant, inbox, publish } from "../artifacts.ts";
import { type Agent, assertError, assertInvalid, operatorRpc } from "../client.ts";
import { statesOf, take, tell } from "./tasks.ts";

/** Gives a new tag to these agents. */
async function tagged(...agents: Agent[]): Promise<string> {
  const tag = `tag:crew-${crypto.randomUUID().slice(0, 8)}`;
  for (const { id } of agents) await operatorRpc("set_agent_tags", { agent_id: id, tags: [tag] });
  return tag;
}

/** A grant to the builder and the stranger by their tag. */
async function grantedToTag({ planner, builder, stranger }: Cast, deliver: "each" | "one") {
  const to_tag = await tagged(builder, stranger);
  return await grant(planner, await publish(planner), { to_tag, deliver });
}

artifactTest("deliver each → every agent of the tag has its own task", async (cast) => {
  const { builder, stranger } = cast;
  const { grant_id } = await grantedToTag(cast, "each");
  const [one] = await take(builder);
  const [other] = await take(stranger);
  assert.deepEqual([one!.grant_id, other!.grant_id], [grant_id, grant_id]);
  assert.notEqual(one!.take_id, other!.take_id);
  assertError(await tell(stranger, "done", { take_id: one!.take_id }), 409, "take_lapsed");
  await tell(builder, "done", { take_id: one!.take_id });
  assert.deepEqual(await statesOf(builder), ["done 1"]);
  assert.deepEqual(await statesOf(stranger), ["taken 1"]);
});

artifactTest("deliver each → an agent that gets the tag later has the task", async (cast) => {
  const { planner, builder } = cast;
  const { to_tag } = await grantedToTag(cast, "each");
  assert.deepEqual(await take(planner), []);
  await operatorRpc("set_agent_tags", { agent_id: planner.id, tags: [to_tag!] });
  assert.equal((await take(planner)).length, 1);
  await operatorRpc("set_agent_tags", { agent_id: builder.id, tags: [] });
  assert.deepEqual(await take(builder), []);
});

artifactTest(
  "deliver one → exactly one agent has it; the others do not see it meanwhile, nor when it is done",
  async (cast) => {
    const { builder, stranger } = cast;
    const { grant_id } = await grantedToTag(cast, "one");
    assert.equal((await inbox(stranger)).length, 1);
    assertInvalid(await tell(stranger, "done", { grant_id }), "grant_id");
    const [task] = await take(builder);
    assert.equal(task!.deliver, "one");
    assert.deepEqual(await take(stranger), []);
    assert.deepEqual(await statesOf(stranger), []);
    assert.equal((await inbox(builder)).length, 1);

    const body = { take_id: task!.take_id, reason: "No.", retry_after_seconds: 0 };
    await tell(builder, "fail", body);
    const [again] = await take(stranger);
    assert.deepEqual([again!.grant_id, again!.attempt], [grant_id, 2]);
    assertError(await tell(builder, "done", { take_id: task!.take_id }), 409, "take_lapsed");
    assert.equal((await tell(stranger, "done", { take_id: again!.take_id })).status, 200);
    assert.deepEqual(await statesOf(builder), []);
    assert.deepEqual(await statesOf(stranger), ["done 2"]);
  },
);

artifactTest(
  "a worker that is removed → its task goes to another agent of the tag at once",
  async (cast) => {
    const { builder, stranger } = cast;
    await grantedToTag(cast, "one");
    assert.equal((await take(builder)).length, 1);
    assert.deepEqual(await take(stranger), []);
    await operatorRpc("remove_agent", { agent_id: builder.id });
    const [task] = await take(stranger);
    assert.equal(task!.attempt, 2);
  },
);

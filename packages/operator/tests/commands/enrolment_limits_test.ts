/** How much the agents of an enrolment may have: `enrolment list` and `enrolment limit`. */
import assert from "node:assert/strict";
import { publish } from "../../../../tests/conformance/artifacts.ts";
import { endCreatedAgents, post } from "../../../../tests/conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  revokeAll,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { create, listed, task } from "./enrolment_tasks.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("enrolment list → how many agents and bytes of its limits each enrolment uses; an agent that has left counts no more, its file does", async () => {
  const { enrolment_id, enrolment_key } = await create(
    "--uses=any",
    "--prefix=new-",
    "--max-agents=5",
    "--quota=2K",
  );
  const rowOf = async () =>
    (await task("list")).output.split("\n").find((line) => line.startsWith(enrolment_id));
  const agent = agentOf(await enrol({ enrolment_key, agent_name: newName("new") }));
  await enrol({ enrolment_key, agent_name: newName("new") });
  await publish(agent, { content: "x".repeat(1024) });
  assert.match((await rowOf())!, /\t2 of 5\t1\.0 KiB of 2\.0 KiB\t/);
  await post("/agent-mesh/leave", { as: agent });
  const [one] = (await listed()).filter((each) => each.enrolment_id === enrolment_id);
  const { agents, held_bytes } = one as unknown as Record<string, number>;
  assert.deepEqual([agents, held_bytes], [1, 1024]);
  await task("limit", enrolment_id, "--quota", "0");
  assert.match((await rowOf())!, /\t1 of 5\t1\.0 KiB\t/);
  await revokeAll(enrolment_id);
});

Deno.test("enrolment limit → more agents and bytes, or fewer; what is left out stays; an event; wrong numbers, or an unknown enrolment → refused, and nothing has changed", async () => {
  const { enrolment_id } = await create("--uses", "any", "--prefix", "new-");
  const limitsNow = async () => {
    const [one] = (await listed()).filter((each) => each.enrolment_id === enrolment_id);
    const { max_agents, quota_bytes } = one as unknown as Record<string, number | null>;
    return [max_agents, quota_bytes];
  };
  assert.deepEqual(await limitsNow(), [1000, null]);
  assert.equal(
    (await task("limit", enrolment_id, "--max-agents", "5000")).output,
    `${enrolment_id} may have 5000 agents, which may hold ten times the project's quota for one agent together.`,
  );
  assert.match(
    (await task("limit", enrolment_id, "--quota", "5G")).output,
    /5000 agents, which may hold 5\.0 GiB together\.$/,
  );
  await task("limit", enrolment_id, "--max-agents", "7");
  assert.deepEqual(await limitsNow(), [7, 5 * 1024 ** 3]);
  const told = (await eventsOf("enrolment.limited"))
    .filter((event) => event["enrolment_id"] === enrolment_id);
  assert.equal(told.length, 3);
  for (
    const [code, ...args] of [
      [2, enrolment_id],
      [2, enrolment_id, "--quota", "5X"],
      [2, enrolment_id, "--max-agents", "0"],
      [1, enrolment_id, "--max-agents", "100001"],
      [1, `enr_${"0".repeat(32)}`, "--max-agents", "5"],
    ] as const
  ) {
    assert.equal((await task("limit", ...args)).code, code, args.join(" "));
  }
  assert.deepEqual(await limitsNow(), [7, 5 * 1024 ** 3]);
  await task("limit", enrolment_id, "--quota", "none");
  assert.deepEqual(await limitsNow(), [7, null]);
  await revokeAll(enrolment_id);
});

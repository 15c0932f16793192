/** docs/runbook.md, "Move to another project": the other server has had fewer transactions. */
import assert from "node:assert/strict";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { countTransactions, moveProject } from "./other_cluster.ts";
import { RestorableStack } from "./restorable_stack.ts";

const FILES = "/functions/v1/agent-artifacts";
const RPC = "/rest/v1/rpc";

Deno.test("a project whose dump was restored into another server → the doctor says so; after-restore makes grants and events of before past, and what comes is told once", async () => {
  await using before = await RestorableStack.open();
  const keyFor = async (agent_id: string): Promise<string> =>
    (await before.ask(`${RPC}/agent_api_create_agent_key`, { agent_id })).key;
  const [planner, builder] = [await keyFor("planner"), await keyFor("builder")];
  const put = (stack: RestorableStack, name: string) =>
    new AgentFiles({ url: stack.stack.url, key: planner }).put(name, name, { to: ["builder"] });
  await keyFor("leaver");
  await put(before, "early.txt");
  const { pseudonym } = await before.ask(`${RPC}/agent_api_erase_agent`, { agent_id: "leaver" });
  await countTransactions(before, 20_000);
  await put(before, "late.txt");
  const told = await eventsOf(before, planner);
  assert.deepEqual(told.map(({ key }) => key), ["early.txt", "late.txt"]);

  await using moved = await RestorableStack.open();
  await moveProject(before, moved);
  await using terminal = await moved.terminal();
  const diagnose = "npx -y deno@2.9.6 task agentops doctor || [[ $? == 1 ]]\n";
  const complaint = /fault +restore +The rows of this database come from another PostgreSQL/;
  assert.match(await terminal.paste(diagnose), complaint);

  await terminal.paste(await documentedBlock("docs/runbook.md, Move to another project, 1"));

  assert.doesNotMatch(await terminal.paste(diagnose), complaint);
  // Earlier events come in the same order.
  assert.deepEqual(await eventsOf(moved, planner), told);
  const erasure = await moved.ask(`${RPC}/agent_api_check_erasure`, { pseudonym });
  assert.deepEqual([erasure.steps, erasure.holds], [1, true]);

  // Earlier grants are not new, and a later grant is new once.
  const inbox = await moved.ask(`${FILES}/inbox`, {}, builder);
  const names = inbox.grants.map(({ key }: { key: string }) => key);
  assert.deepEqual(names.toSorted(), ["early.txt", "late.txt"]);
  const { grants, latest } = await moved.ask(`${FILES}/inbox`, { after: inbox.latest }, builder);
  assert.deepEqual(grants, []);
  const held = moved.ask(`${FILES}/inbox`, { after: latest, wait_seconds: 30 }, builder);
  await put(moved, "new.txt");
  const { grants: [grant, ...others], latest: position } = await held;
  assert.deepEqual([grant.key, others], ["new.txt", []]);
  const nothing = await moved.ask(`${FILES}/inbox`, { after: position }, builder);
  assert.deepEqual(nothing.grants, []);
  const [last] = (await eventsOf(moved, planner)).slice(-1);
  assert.equal(last!.key, "new.txt");

  // An erasure waits until the transactions from before have ended.
  const erased = await terminal.paste(
    "npx -y deno@2.9.6 task agentops agent erase builder --confirm builder\n",
  );
  assert.match(erased, /Nothing names the agent/);
});

interface TestEvent {
  readonly type: string;
  readonly at: string;
  readonly key?: string;
}

async function eventsOf(stack: RestorableStack, key: string): Promise<TestEvent[]> {
  const { events } = await stack.ask(`${FILES}/events`, { types: ["grant.created"] }, key);
  return events;
}

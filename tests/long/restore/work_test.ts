/** What docs/backup.md says of tasks, versions and the outbox of webhooks after a restore. */
import assert from "node:assert/strict";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { agentWithKey, FILES, rpc, task } from "./requests.ts";
import { RestorableStack } from "./restorable_stack.ts";

/** Nobody answers there, so that each delivery waits. */
const RECEIVER = "https://receiver.invalid/hook";

async function waitingFor(exercise: RestorableStack, webhook_id: string): Promise<string[]> {
  const request = { webhook_id, max_entries: 100, state: "waiting" };
  const { found } = await rpc(exercise, "list_deliveries", request);
  return found.map(({ event_id }: { event_id: string }) => event_id).sort();
}

Deno.test("docs/backup.md, tasks, versions and deliveries of a restored database → what was done waits again, a lost take has lapsed, no version names two contents, what waited for a webhook waits", async () => {
  await using exercise = await RestorableStack.open();
  const { url } = exercise.stack;
  const { key: planner } = await agentWithKey(exercise, "planner");
  const { key: builder } = await agentWithKey(exercise, "builder");
  const put = (name: string, bytes: string) =>
    new AgentFiles({ url, key: planner }).put(name, bytes, { to: ["builder"] });
  const take = async (max: number) =>
    (await exercise.ask(`${FILES}/inbox/take`, { max }, builder)).tasks;
  const stateOf = async (grant_id: string) =>
    (await exercise.ask(`${FILES}/grants`, { grant_id }, planner)).grants[0]?.state;
  const { webhook_id } = await exercise.ask(`${FILES}/webhooks/put`, {
    url: RECEIVER,
    types: ["grant.created"],
  });
  for (const name of ["held", "done", "taken later"]) await put(name, name);
  const [held] = await take(1);
  const waiting = await waitingFor(exercise, webhook_id);
  assert.equal(waiting.length, 3);
  await exercise.backUp();

  const [done, takenLater] = await take(2);
  await exercise.ask(`${FILES}/inbox/done`, { take_id: done.take_id }, builder);
  const lost = await put("held", "the lost version");
  assert.equal(lost.version, 2);
  assert.equal((await waitingFor(exercise, webhook_id)).length, 4);

  await exercise.restore();
  const after = await task(exercise, "agentops restore after");
  assert.match(after.output, /^Epoch [0-9a-f]{12} has begun: /m);

  // Tasks have the state of the backup.
  assert.equal(await stateOf(held.grant_id), "taken");
  assert.equal(await stateOf(done.grant_id), "waiting");
  for (const { take_id } of [done, takenLater]) {
    const late = await exercise.post(`${FILES}/inbox/done`, { take_id }, builder);
    assert.deepEqual([late.status, late.body.error.code], [409, "take_lapsed"]);
  }
  assert.equal(await stateOf(takenLater.grant_id), "waiting");
  const again = await take(2);
  assert.deepEqual(
    again.map(({ grant_id }: { grant_id: string }) => grant_id),
    [done.grant_id, takenLater.grant_id],
  );
  await exercise.ask(`${FILES}/inbox/done`, { take_id: held.take_id }, builder);

  // The lost version is not there, and its number names nothing else.
  const opened = await exercise.post(`${FILES}/open`, { key: "held", version: 2 }, planner);
  assert.deepEqual([opened.status, opened.body.error.code], [404, "artifact_not_found"]);
  const next = await put("held", "the next version");
  assert.match(String(next.version), /^\d{13}$/);

  // The delivery of the lost version's grant is gone, and the new version's is there.
  const now = await waitingFor(exercise, webhook_id);
  assert.deepEqual(waiting.filter((id) => !now.includes(id)), []);
  assert.equal(now.length, 4);
});

import assert from "node:assert/strict";
import {
  startReceiver,
  verify,
  withWebhooks,
} from "../../../../tests/database/webhooks/receiver.ts";
import { stackEnvironment } from "../../../local/stack/stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

Deno.test("agentops webhook create, test, list, deliveries, rotate, requeue and delete → as their pages say", async () => {
  await using receiver = startReceiver();
  await withWebhooks(async ({ stack, sql }) => {
    const run = async (verb: string, ...args: string[]) => {
      const environment = stackEnvironment(stack);
      return await runTask(`agentops webhook ${verb}`, { args: [...args, "--json"], environment });
    };
    const state = async () => [...await sql`select * from agents.webhooks order by created_at`];

    const refused = await run("create", receiver.url, "--type", "no.such");
    assert.equal(refused.code, 2);
    const inside = await run("create", "https://10.0.0.1/");
    assert.deepEqual([inside.code, await state()], [1, []]);
    assert.match(inside.errors, /Must have a name, not an address/);

    const created = await run(
      "create",
      receiver.url,
      "--label",
      "tickets",
      "--type",
      "grant.created",
    );
    assert.equal(created.code, 0, created.errors);
    const { secret, webhook_id } = JSON.parse(created.output);

    const tested = await run("test", webhook_id);
    assert.equal(tested.code, 0, tested.errors);
    assert.equal(verify(secret, receiver.received[0]!).type, "webhook.tested");

    const listed = await run("list");
    assert.deepEqual([listed.code, listed.output.includes(secret)], [0, false]);
    assert.ok(listed.output.includes(webhook_id));

    receiver.respond = () => new Response(null, { status: 500 });
    const failed = await run("test", webhook_id);
    assert.deepEqual([failed.code, failed.output], [1, ""]);
    assert.match(failed.errors, /did not arrive: 500\. It is tried again/);

    await sql`
      update agents.webhook_deliveries
      set parked_at = now(), forget_at = now() + interval '1 day'
      where delivered_at is null`;
    const parked = await run("deliveries", webhook_id, "--state", "parked");
    const [{ event_id, last_status }] = parked.output.trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.equal(last_status, 500);
    const requeued = await run("requeue", webhook_id, event_id);
    assert.equal(JSON.parse(requeued.output).requeued, 1);

    const rotated = await run("rotate", webhook_id, "--overlap-hours", "1");
    assert.equal(rotated.code, 0, rotated.errors);
    assert.notEqual(JSON.parse(rotated.output).secret, secret);

    const before = await state();
    const unasked = await run("delete", webhook_id);
    assert.equal(unasked.code, 2);
    assert.match(unasked.errors, /This ends whk_[0-9a-f]+ \(tickets\), with 1 waiting deliveries/);
    const dry = await run("delete", webhook_id, "--dry-run");
    assert.deepEqual([dry.code, await state()], [0, before]);
    const deleted = await run("delete", webhook_id, "--yes");
    assert.equal(deleted.code, 0, deleted.errors);
    const again = await run("delete", webhook_id, "--yes");
    assert.match(again.errors, /there is no live webhook of this webhook_id/);
    for (const verb of ["test", "requeue", "rotate"]) {
      assert.equal((await run(verb, webhook_id)).code, 1, verb);
    }
  });
});

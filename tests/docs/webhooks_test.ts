import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { startReceiver, withWebhooks } from "../database/webhooks/receiver.ts";
import { deleteWebhook, listWebhooks } from "../conformance/webhooks/webhooks.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/webhooks.md, Create one → a secret, and the webhook in the list", async () => {
  const block = await documentedBlock("docs/webhooks.md, Create one, 1");
  const label = `tickets-${crypto.randomUUID().slice(0, 8)}`;
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(block.replace("tickets", label));
  const made = (await listWebhooks()).filter((one) => one.label === label);
  for (const { webhook_id } of made) await deleteWebhook(webhook_id);
  assert.equal(made.length, 1, printed);
  assert.match(printed, /^whsec_[A-Za-z0-9+/]{43}=$/m);
  assert.ok(printed.includes(made[0]!.webhook_id));
});

Deno.test("docs/webhooks.md, Receive → a body as the page shows, and a receiver that takes it once and nothing else", async () => {
  const shown = JSON.parse(await documentedBlock("docs/webhooks.md, Receive, 1"));
  const program = await documentedBlock("docs/webhooks.md, Receive, 2");
  const file = await Deno.makeTempFile({ dir: import.meta.dirname!, suffix: ".js" });
  try {
    await Deno.writeTextFile(file, program);
    const { receive } = await import(`file://${file}`);
    await using receiver = startReceiver();
    await withWebhooks(async ({ create, sql, deliver }) => {
      const { secret } = await create({ url: receiver.url });
      await sql`
        select agents.record_event(
          '{"kind": "operator"}', null, ${shown.type}, 'builder', ${shown.data.grant_id},
          jsonb_build_object('artifact_id', ${shown.data.artifact_id}::text)
        )`;
      await deliver();
      const { body, headers } = receiver.received.at(-1)!;
      const sent = JSON.parse(body);
      assert.deepEqual(Object.keys(sent), Object.keys(shown));
      assert.deepEqual(Object.keys(sent.data), Object.keys(shown.data));
      assert.equal(sent.data.artifact_id, shown.data.artifact_id);
      const ask = async (with_: string) =>
        (await receive(new Request("http://x/", { method: "POST", body, headers }), with_)).status;
      assert.deepEqual([await ask(secret), await ask(secret)], [204, 204]);
      assert.equal(await ask(`whsec_${btoa("another secret of 32 bytes......")}`), 401);
      assert.ok(new Webhook(secret).verify(body, headers));
    });
  } finally {
    await Deno.remove(file);
  }
});

/** Webhooks on the dashboard. */
import assert from "node:assert/strict";
import { deleteWebhook, putWebhook } from "../../../../tests/conformance/webhooks/webhooks.ts";
import { withForms } from "./forms.ts";
import { HOST, LABEL, withShownWebhook } from "./shown_webhook.ts";

/** The row of a webhook in the panel: the text of each cell by its column. */
function rowOf(page: string, webhookId: string): Record<string, string> {
  const row = page.split("<tr>").find((part) => part.includes(webhookId));
  assert.ok(row !== undefined, page);
  const cells = row.matchAll(/data-head="([^"]+)">([^]*?)<\/td>/g);
  return Object.fromEntries(
    [...cells].map((
      [, head, cell],
    ) => [head, cell!.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim()]),
  );
}

Deno.test("a webhook with deliveries that arrived, failed and are parked → its row says so, and how to send them again; no secret, no markup of its label", async () => {
  await withShownWebhook(async (webhookId) => {
    await withForms(async (forms) => {
      const { text } = await forms.open("panels/webhooks");
      const row = rowOf(text, webhookId);
      assert.equal(row["host"], HOST);
      assert.equal(row["events"], "all: nothing.happens");
      assert.deepEqual([row["waiting"], row["parked"]], ["1", "1"]);
      assert.match(row["last success"]!, /3 hours ago/);
      assert.match(row["last failure"]!, /^503, tried 7 times; again in (49|50) minutes/);
      assert.ok(row["what to do"]!.includes(`agentops webhook requeue ${webhookId}`));
      const escaped = LABEL.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      assert.ok(text.includes(`<bdi>${escaped}</bdi>`));
      assert.ok(!text.includes("secret-path"));
      assert.match(text, /<strong>note<\/strong> webhooks: .* parked/);
    });
  });
});

Deno.test("a webhook that nothing was sent to, and then deleted → no success and no failure; then when it ended, and why", async () => {
  const { webhook_id, secret } = await putWebhook({ agent_id: "planner" });
  await withForms(async (forms) => {
    const open = async () => (await forms.open("panels/webhooks")).text;
    const text = await open();
    assert.ok(!text.includes(secret));
    const row = rowOf(text, webhook_id);
    assert.match(row["events"]!, /^of planner ?: nothing\.happens$/);
    assert.deepEqual([row["last success"], row["last failure"], row["what to do"]], ["", "", ""]);
    await deleteWebhook(webhook_id);
    assert.match(rowOf(await open(), webhook_id)["what to do"]!, /^Ended .*You deleted it\./);
  });
});

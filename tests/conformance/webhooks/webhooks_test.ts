import assert from "node:assert/strict";
import { assertError, assertInvalid, createAgent, endCreatedAgents, post } from "../client.ts";
import { assertUnauthenticated } from "../credentials.ts";
import {
  deleteMadeWebhooks,
  listWebhooks,
  putWebhook,
  QUIET_URL,
  tryPutWebhook,
} from "./webhooks.ts";

Deno.test.afterEach(async () => {
  await deleteMadeWebhooks();
  await endCreatedAgents();
});

Deno.test("/webhooks/put → a webhook with a secret, which no list shows; again with its id → another secret", async () => {
  const made = await putWebhook({ label: "tickets", agent_id: "planner" });
  assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(made.previous_secret_until, null);
  const rotated = await tryPutWebhook({ webhook_id: made.webhook_id, overlap_seconds: 60 });
  assert.equal(rotated.status, 200);
  assert.notEqual(rotated.body.secret, made.secret);
  const until = Date.parse(rotated.body.previous_secret_until!);
  assert.ok(until > Date.now() && until <= Date.now() + 120_000);
  const listed = JSON.stringify(await listWebhooks());
  assert.ok(listed.includes(made.webhook_id));
  for (const { secret } of [made, rotated.body]) assert.equal(listed.includes(secret), false);
});

Deno.test("/webhooks/put and /webhooks/deliver by an agent → forbidden, by nobody → 401, and nothing changes", async () => {
  const planner = await createAgent("planner");
  const before = await listWebhooks();
  for (const [path, body] of [["put", { url: QUIET_URL }], ["deliver", {}]] as const) {
    const url = `/agent-artifacts/webhooks/${path}`;
    assertError(await post(url, { as: planner, body }), 403, "forbidden");
    assertUnauthenticated(await post(url, { as: "nobody", body }));
  }
  assert.deepEqual(await listWebhooks(), before);
});

Deno.test("/webhooks/put of a URL that leads elsewhere than to the public internet → 422, and no webhook is made", async () => {
  const before = await listWebhooks();
  for (
    const url of [
      "",
      "hooks.example.com",
      "ftp://hooks.example.com/",
      "https://hooks",
      "https:///x",
      "https://user:word@hooks.example.com/",
      "https://hooks.example.com/#part",
      "https://localhost/",
      "https://a.localhost/",
      "https://db.internal/",
      "https://nas.local/",
      "https://127.0.0.1/",
      "https://10.0.0.1/",
      "https://169.254.169.254/",
      "https://8.8.8.8/",
      // Other spellings of loopback.
      "https://127.1/",
      "https://2130706433/",
      "https://0x7f000001/",
      "https://0177.0.0.1/",
      "https://[::1]/",
      "https://[::ffff:127.0.0.1]/",
      "https://[::ffff:a00:1]/",
      "https://[fe80::1]/",
      "https://[fd00::1]/",
      "https://[64:ff9b::7f00:1]/",
      "https://127.0.0.1.:443/",
      "https://LOCALHOST/",
      "https://hooks.example.com/ x",
      `https://hooks.example.com/${"x".repeat(2048)}`,
    ]
  ) {
    assertInvalid(await tryPutWebhook<Record<string, never>>({ url }), "url");
  }
  assert.deepEqual(await listWebhooks(), before);
});

Deno.test("/webhooks/put of fields that do not belong together → 422, and nothing is made or changed", async () => {
  const made = await putWebhook();
  const before = await listWebhooks();
  const { webhook_id } = made;
  const unknown = `whk_${"0".repeat(32)}`;
  for (
    const [body, field] of [
      [{}, "url"],
      [{ url: QUIET_URL, agent_id: "planner", tag: "tag:web" }, "tag"],
      [{ url: QUIET_URL, agent_id: "-" }, "agent_id"],
      [{ url: QUIET_URL, tag: "web" }, "tag"],
      [{ url: QUIET_URL, types: [] }, "types"],
      [{ url: QUIET_URL, types: ["grants"] }, "types.0"],
      [{ url: QUIET_URL, label: "" }, "label"],
      [{ url: QUIET_URL, overlap_seconds: 1 }, "overlap_seconds"],
      [{ webhook_id, url: QUIET_URL }, "url"],
      [{ webhook_id, types: ["grant.created"] }, "types"],
      [{ webhook_id, overlap_seconds: 604_801 }, "overlap_seconds"],
      [{ webhook_id: "whk_1" }, "webhook_id"],
      [{ webhook_id: unknown }, "webhook_id"],
    ] as const
  ) {
    assertInvalid(await tryPutWebhook<Record<string, never>>(body), field);
  }
  assert.deepEqual(await listWebhooks(), before);
});

Deno.test("/webhooks/deliver without anything due → nothing is sent", async () => {
  const { status, body } = await post("/agent-artifacts/webhooks/deliver", { as: "operator" });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ["delivered", "failed"]);
});

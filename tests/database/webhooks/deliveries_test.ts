import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { startReceiver, until, verify, withWebhooks } from "./receiver.ts";

const register = (key: string) => ({
  agent_id: "planner",
  key,
  mime: "text/plain",
  size: 1,
  ttl_days: 1,
});

Deno.test("an event → its webhook gets it, signed as Standard Webhooks say, with ids alone", async () => {
  await using receiver = startReceiver();
  await withWebhooks(async ({ create, ask, sql, stack }) => {
    const { secret, webhook_id } = await create({ url: receiver.url, types: ["grant.created"] });
    const { artifact_id, upload_url } = await ask<{ artifact_id: string; upload_url: string }>(
      "/register",
      register("secret plan.txt"),
    );
    await (await fetch(upload_url, { method: "PUT", body: "x" })).body?.cancel();
    const sha256 = createHash("sha256").update("x").digest("hex");
    await ask("/commit", { artifact_id, sha256 });
    const { grant_id, token } = await ask<{ grant_id: string; token: string }>("/grant", {
      artifact_id,
      to_agent: "builder",
      note: "a note",
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    // The stack's own listener was told.
    await until(() => receiver.received.length > 0);
    const [received, ...others] = receiver.received;
    assert.deepEqual(others, []);
    const message = verify(secret, received!);
    const [event] = await sql`
      select event_id, transaction_id from agents.events where action = 'grant.created'`;
    const event_id = `evt_${event!["event_id"]}`;
    assert.equal(received!.headers["webhook-id"], event_id);
    assert.equal(received!.headers["content-type"], "application/json");
    const { position, ...data } = message.data;
    assert.deepEqual(data, { event_id, agent_id: "builder", grant_id, artifact_id });
    assert.match(message.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    for (const secretText of ["secret plan", "a note", token, sha256]) {
      assert.equal(received!.body.includes(secretText), false);
    }
    // Whoever continues from the position finds the event.
    const { events } = await ask<{ events: { event_id: string }[] }>("/events", {
      agent_id: "builder",
      after: position,
    });
    assert.equal(events[0]!.event_id, event_id);
    const logs = await Deno.readTextFile(`${stack.stateDir}/logs/agent-artifacts.log`);
    for (const hidden of [secret, "of-the-receiver"]) assert.equal(logs.includes(hidden), false);
    const [listed] = await sql`select public.agent_api_list_webhooks(10) as page`;
    assert.equal(JSON.stringify(listed).includes(secret), false);
    assert.equal(listed!["page"]["found"][0]["webhook_id"], webhook_id);
  }, { kicks: true });
});

Deno.test("webhooks of an agent, of a tag, of a type, and of everything → each gets what it asks for", async () => {
  await using receiver = startReceiver();
  await withWebhooks(async ({ create, record, deliver, deliveries, sql }) => {
    const url = receiver.url;
    const all = await create({ url });
    const ofPlanner = await create({ url, agent_id: "planner" });
    const ofTag = await create({ url, tag: "tag:web" });
    const ofType = await create({ url, types: ["grant.created"] });
    await sql`delete from agents.webhook_deliveries where true`;
    await sql`insert into agents.agent_tags (agent_id, tag) values ('builder', 'tag:web')`;
    const [planner, builder] = [await record("planner"), await record("builder")];
    await deliver();
    const eventsOf = async ({ webhook_id }: { webhook_id: string }) =>
      (await deliveries(webhook_id)).map(({ event_id, state }) => `${event_id} ${state}`).sort();
    assert.deepEqual(await eventsOf(all), [`${planner} delivered`, `${builder} delivered`].sort());
    assert.deepEqual(await eventsOf(ofPlanner), [`${planner} delivered`]);
    assert.deepEqual(await eventsOf(ofTag), [`${builder} delivered`]);
    assert.deepEqual(await eventsOf(ofType), []);
  });
});

Deno.test("a receiver that is down → nothing is lost, and each event arrives when it is back; a bad event delays no other", async () => {
  const receiver = startReceiver();
  await using _receiver = receiver;
  await withWebhooks(async ({ create, record, deliver, deliveries, sql }) => {
    const { webhook_id, secret } = await create({ url: receiver.url });
    await sql`delete from agents.webhook_deliveries where true`;
    receiver.respond = () => new Response(null, { status: 503 });
    const events = [await record(), await record(), await record()];
    const bad = events[1];
    assert.deepEqual(await deliver(), { delivered: 0, failed: 3 });
    for (const one of await deliveries(webhook_id)) {
      assert.deepEqual([one["state"], one["attempts"], one["last_status"]], ["waiting", 1, 503]);
    }
    const [pause] = await sql`
      select extract(epoch from min(next_at) - now()) as seconds from agents.webhook_deliveries`;
    assert.ok(Number(pause!["seconds"]) > 5 && Number(pause!["seconds"]) <= 10);
    // Not due: nothing is sent.
    assert.deepEqual(await deliver(), { delivered: 0, failed: 0 });

    receiver.respond = ({ headers }) =>
      new Response(null, { status: headers["webhook-id"] === bad ? 500 : 200 });
    await sql`update agents.webhook_deliveries set next_at = now() where true`;
    assert.deepEqual(await deliver(), { delivered: 2, failed: 1 });
    // The second pause is twice as long.
    const [left] = await sql`
      select attempts, extract(epoch from next_at - now()) as seconds
      from agents.webhook_deliveries where delivered_at is null`;
    assert.equal(left!["attempts"], 2);
    assert.ok(Number(left!["seconds"]) > 10 && Number(left!["seconds"]) <= 20);
    const ids = receiver.received.map((one) => verify(secret, one).data.event_id);
    assert.deepEqual(new Set(ids), new Set(events));
  });
});

Deno.test("an event that fails for 24 hours → parked, and told; requeued → it is sent again", async () => {
  await using receiver = startReceiver(() => new Response(null, { status: 400 }));
  await withWebhooks(async ({ create, record, deliver, deliveries, sql, stack }) => {
    const { webhook_id } = await create({ url: receiver.url });
    await sql`delete from agents.webhook_deliveries where true`;
    const event_id = await record();
    await deliver();
    await sql`
      update agents.webhook_deliveries
      set first_attempt_at = now() - interval '24 hours', next_at = now()
      where true`;
    await deliver();
    const [parked] = await deliveries(webhook_id);
    assert.deepEqual([parked!["event_id"], parked!["state"]], [event_id, "parked"]);
    const metrics = await fetch(`${stack.url}/functions/v1/agent-artifacts/metrics`, {
      headers: { apikey: stack.secretKey },
    });
    assert.match(await metrics.text(), /agent_webhook_deliveries\{state="parked"\} 1\n/);
    assert.deepEqual(await deliver(), { delivered: 0, failed: 0 });

    receiver.respond = () => new Response(null, { status: 200 });
    const [requeued] = await sql`
      select public.agent_api_requeue_deliveries(${webhook_id}) as answer`;
    assert.deepEqual(requeued!["answer"], { requeued: 1, remaining: 0 });
    assert.deepEqual(await deliver(), { delivered: 1, failed: 0 });
    assert.equal((await deliveries(webhook_id))[0]!["state"], "delivered");
  });
});

Deno.test("a receiver that answers 410 → the webhook has ended: nothing more is queued or sent, and the sweep deletes its rows", async () => {
  await using receiver = startReceiver(() => new Response(null, { status: 410 }));
  await withWebhooks(async ({ create, record, deliver, ask, sql }) => {
    const { webhook_id } = await create({ url: receiver.url });
    await deliver();
    assert.equal(receiver.received.length, 1);
    await record();
    await deliver();
    assert.equal(receiver.received.length, 1);
    const [webhook] = await sql`select end_reason from agents.webhooks`;
    assert.equal(webhook!["end_reason"], "gone");
    const [event] = await sql`
      select object_id, details from agents.events where action = 'webhook.ended'`;
    assert.deepEqual(event, { object_id: webhook_id, details: { reason: "gone" } });
    await sql`update agents.webhooks set ended_at = now() - interval '2 minutes' where true`;
    await ask("/sweep");
    assert.deepEqual([...await sql`select * from agents.webhook_deliveries`], []);
  });
});

Deno.test("a rotated secret → for a while both secrets verify, then only the new one", async () => {
  await using receiver = startReceiver();
  await withWebhooks(async ({ create, ask, record, deliver, sql }) => {
    const made = await create({ url: receiver.url });
    const { webhook_id } = made;
    await sql`delete from agents.webhook_deliveries where true`;
    const rotated = await ask<typeof made>("/webhooks/put", { webhook_id });
    assert.notEqual(rotated.secret, made.secret);
    assert.ok(Date.parse(rotated.previous_secret_until!) > Date.now() + 86_000_000);
    await sql`delete from agents.webhook_deliveries where true`;
    await record();
    await deliver();
    for (const { secret } of [made, rotated]) verify(secret, receiver.received[0]!);
    await sql`update agents.webhooks set previous_valid_until = now() where true`;
    await record();
    await deliver();
    verify(rotated.secret, receiver.received[1]!);
    assert.throws(() => verify(made.secret, receiver.received[1]!), /signature/);
    // At once.
    const third = await ask<typeof made>("/webhooks/put", { webhook_id, overlap_seconds: 0 });
    await sql`delete from agents.webhook_deliveries where true`;
    await record();
    await deliver();
    verify(third.secret, receiver.received[2]!);
    assert.throws(() => verify(rotated.secret, receiver.received[2]!), /signature/);
  });
});

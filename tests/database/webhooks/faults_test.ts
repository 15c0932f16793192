import assert from "node:assert/strict";
import { startFunction } from "../../../packages/local/stack/functions.ts";
import { freePort } from "../../../packages/local/processes/free_port.ts";
import { type Receiver, startReceiver, until, verify, withWebhooks } from "./receiver.ts";

/** Events by the ids under which a receiver got them. */
const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers["webhook-id"]!);

Deno.test("the function is killed in the middle of a batch → the leases end, and every event arrives, at least once", async () => {
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  await using receiver = startReceiver();
  await withWebhooks(async ({ create, record, deliver, deliveries, sql, stack }) => {
    const { webhook_id, secret } = await create({ url: receiver.url });
    await sql`delete from agents.webhook_deliveries where true`;
    const events = await Promise.all(Array.from({ length: 12 }, () => record()));
    receiver.respond = () => never;
    const doomed = await startFunction({
      name: "agent-artifacts",
      environment: { ...stack.functionEnvironment(), WEBHOOKS_ALLOW_HTTP: "true" },
      reachableHosts: ["127.0.0.1"],
      port: await freePort(),
      logFile: `${stack.stateDir}/logs/doomed.log`,
    });
    const call = fetch(`${doomed.url}/agent-artifacts/webhooks/deliver`, {
      method: "POST",
      headers: { apikey: stack.secretKey },
      body: "{}",
    }).catch(() => {});
    // One webhook has eight under way at most.
    await until(() => receiver.received.length === 8);
    await doomed.kill();
    await call;
    release(new Response(null, { status: 200 }));
    receiver.respond = () => new Response(null, { status: 200 });
    // While the leases last, nobody sends these, and nothing else of this webhook either.
    assert.deepEqual(await deliver(), { delivered: 0, failed: 0 });
    await sql`
      update agents.webhook_deliveries
      set leased_until = now(), next_at = now()
      where leased_until is not null`;
    assert.deepEqual(await deliver(), { delivered: 12, failed: 0 });
    assert.deepEqual(new Set(idsOf(receiver)), new Set(events));
    for (const one of receiver.received) verify(secret, one);
    const states = (await deliveries(webhook_id)).map(({ state }) => state);
    assert.deepEqual(states, Array.from(events, () => "delivered"));
  });
});

Deno.test("receivers that never answer → another one's events arrive meanwhile, before any of them gives up", async () => {
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  await using slow = startReceiver(() => never);
  await using quick = startReceiver();
  await withWebhooks(async ({ create, record, deliveries, sql }) => {
    const { webhook_id: slowId } = await create({ url: slow.url, agent_id: "planner" });
    const { webhook_id } = await create({ url: quick.url, agent_id: "builder" });
    await sql`delete from agents.webhook_deliveries where true`;
    for (let count = 0; count < 20; count += 1) await record("planner");
    await until(() => slow.received.length === 8);
    for (let count = 0; count < 20; count += 1) {
      const event = await record("builder");
      await until(() => idsOf(quick).includes(event));
    }
    assert.equal(slow.received.length, 8);
    assert.ok((await deliveries(slowId)).every(({ state }) => state !== "delivered"));
    await until(async () =>
      (await deliveries(webhook_id)).every(({ state }) => state === "delivered")
    );
    release(new Response(null, { status: 500 }));
  }, { kicks: true });
});

Deno.test("more receivers that never answer than one call has places for → another one's event arrives before any of them gives up", async () => {
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  const timer = setTimeout(() => release(new Response(null, { status: 500 })), 45_000);
  await using slow = startReceiver(() => never);
  await using quick = startReceiver();
  await withWebhooks(async ({ create, record, deliveries, sql }) => {
    const slowIds: string[] = [];
    for (let count = 0; count < 70; count += 1) {
      slowIds.push((await create({ url: slow.url, agent_id: "planner" })).webhook_id);
    }
    await create({ url: quick.url, agent_id: "builder" });
    await sql`delete from agents.webhook_deliveries where true`;
    // Of each, as many as may be under way at a time.
    for (let count = 0; count < 8; count += 1) await record("planner");
    await until(() => slow.received.length >= 256);
    await sql`update agents.webhook_kicks set kicked_at = '-infinity' where only_row`;
    const event = await record("builder");
    await until(() => idsOf(quick).includes(event));
    for (const webhook_id of slowIds) {
      for (const { last_error, last_status } of await deliveries(webhook_id)) {
        assert.deepEqual([last_error, last_status], [null, null]);
      }
    }
    clearTimeout(timer);
    release(new Response(null, { status: 500 }));
  }, { kicks: true });
});

Deno.test("a redirect → not followed; a URL that is not allowed any more, an unreachable one, an unreadable secret → tried again, and nothing is sent", async () => {
  await using inside = startReceiver();
  await using receiver = startReceiver(() =>
    new Response(null, { status: 307, headers: { location: inside.url } })
  );
  await withWebhooks(async ({ create, record, deliver, deliveries, sql, stack }) => {
    const { webhook_id } = await create({ url: receiver.url });
    await sql`delete from agents.webhook_deliveries where true`;
    const retryAs = async (url: string) => {
      await sql`update agents.webhooks set url = ${url} where true`;
      await sql`update agents.webhook_deliveries set next_at = now() where true`;
      await deliver();
      const [{ state, last_status, last_error }] = (await deliveries(webhook_id)) as [
        Record<string, unknown>,
      ];
      return [state, last_status, last_error];
    };
    await record();
    assert.deepEqual(await retryAs(receiver.url), ["waiting", 307, null]);
    assert.equal(inside.received.length, 0);
    for (
      const url of [
        "http://127.0.0.2:80/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "https://127.0.0.1/",
        "http://10.0.0.1/",
        "http://localhost/",
        "https://a.internal/",
      ]
    ) {
      assert.deepEqual(await retryAs(url), ["waiting", null, "address_refused"], url);
    }
    assert.deepEqual(await retryAs(`http://127.0.0.1:${await freePort()}/`), [
      "waiting",
      null,
      "unreachable",
    ]);
    await sql`update agents.webhooks set encrypted_secret = 'v1.0123456789abcdef.AAAA' where true`;
    const sent = receiver.received.length;
    assert.deepEqual(await retryAs(receiver.url), ["waiting", null, "secret_unreadable"]);
    assert.equal(receiver.received.length, sent);
    const log = await Deno.readTextFile(`${stack.stateDir}/logs/agent-artifacts.log`);
    assert.equal(log.includes("of-the-receiver"), false);
  });
});

Deno.test("a hundred thousand deliveries that wait or are parked → taking looks at none of them", async () => {
  await using receiver = startReceiver();
  await withWebhooks(async ({ create, record, sql, deliver }) => {
    const down = await create({ url: "https://hooks.example.com/", agent_id: "planner" });
    await create({ url: receiver.url, agent_id: "builder" });
    await sql`delete from agents.webhook_deliveries where true`;
    await sql`
      insert into agents.webhook_deliveries (
        webhook_id, event_id, message_id, next_at, parked_at, forget_at
      )
      select ${down.webhook_id}, i + 1000000, 'evt_' || i, now() + interval '1 hour',
        case when i % 2 = 0 then now() end,
        case when i % 2 = 0 then now() + interval '30 days' end
      from generate_series(1, 100000) i`;
    await sql`vacuum analyze agents.webhook_deliveries`;
    const event = await record("builder");
    const [plan] = await sql`
      explain (analyze, buffers, format json)
      select public.agent_api_take_deliveries('{"kind": "operator"}', '[]', 256, 8, 60)`;
    const { Plan } = plan!["QUERY PLAN"][0];
    assert.ok(Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"] < 1000, JSON.stringify(Plan));
    await sql`
      update agents.webhook_deliveries
      set leased_until = null, next_at = now()
      where leased_until is not null`;
    assert.deepEqual(await deliver(), { delivered: 1, failed: 0 });
    assert.deepEqual(idsOf(receiver), [event]);
  });
});

Deno.test("an event without webhooks → touches no page of their tables, and an event that none matches adds no row", async () => {
  await withWebhooks(async ({ create, record, sql }) => {
    const touched = async () => {
      const [row] = await sql`
        select coalesce(sum(
          coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0)
          + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)
        ), 0)::integer as pages
        from pg_statio_user_tables
        where relname in ('webhooks', 'webhook_deliveries')`;
      return row!["pages"];
    };
    const session = await sql.reserve();
    const writeTen = async () => {
      for (let count = 0; count < 10; count += 1) {
        await session`
          select agents.record_event('{"kind": "operator"}', null, 'agent.limited', 'planner')`;
      }
      await session`select pg_stat_force_next_flush()`;
      await session`select`;
      return await touched();
    };
    // The first ones are planned, which looks at the roots of indexes.
    const before = await writeTen();
    assert.equal(await writeTen(), before);
    session.release();
    await create({
      url: "https://hooks.example.com/",
      agent_id: "builder",
      types: ["grant.created"],
    });
    await record("planner");
    await record("builder");
    assert.deepEqual([...await sql`select * from agents.webhook_deliveries`], []);
  });
});

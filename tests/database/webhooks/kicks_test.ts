import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "../connection.ts";
import { installExtensionStandIns } from "../extension_stand_ins.ts";

const HOOK = `whk_${"1".repeat(32)}`;

/** A database with a webhook and a scheduled sweep, whose pg_net keeps what it is told to send. */
async function withSchedule(run: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  await withProjectDatabase({}, async (sql) => {
    await installExtensionStandIns(sql);
    await sql.unsafe(`
      create table net.sent (url text, headers jsonb, timeout integer);
      -- As on the platform: postgres owns our functions, and is no superuser.
      grant usage on schema net, vault to postgres;
      grant all on net.sent, vault.decrypted_secrets to postgres;
      drop function net.http_post;
      create function net.http_post(
        url text,
        body jsonb default '{}',
        params jsonb default '{}',
        headers jsonb default '{}',
        timeout_milliseconds integer default 5000
      ) returns bigint
      language sql as $$
        insert into net.sent values (url, headers, timeout_milliseconds) returning 1::bigint
      $$`);
    await sql`
      select vault.create_secret('https://project.example', 'project_url'),
        vault.create_secret('sb_secret_of_this_test', 'secret_key')`;
    await sql`select public.agent_api_schedule_sweep()`;
    await sql`
      insert into agents.webhooks (webhook_id, url, agent_id, encrypted_secret)
      values (${HOOK}, 'https://hooks.example.com/', 'planner', 'v1.0123456789abcdef.AAAA')`;
    await run(sql);
  });
}

const record = (sql: postgres.Sql | postgres.TransactionSql, agent: string) =>
  sql`select agents.record_event('{"kind": "operator"}', null, 'agent.limited', ${agent})`;

const sent = async (sql: postgres.Sql) => [...await sql`select * from net.sent`];

Deno.test("an event that a webhook matches → pg_net calls /webhooks/deliver, at most once a second; others → no call", async () => {
  await withSchedule(async (sql) => {
    await record(sql, "builder");
    assert.deepEqual(await sent(sql), []);
    await sql.begin("read write", async (transaction) => {
      await transaction`set local role service_role`;
      await record(transaction, "planner");
    });
    const call = {
      url: "https://project.example/functions/v1/agent-artifacts/webhooks/deliver",
      headers: { apikey: "sb_secret_of_this_test", "content-type": "application/json" },
      timeout: 60_000,
    };
    assert.deepEqual(await sent(sql), [call]);
    await sql`update agents.webhook_kicks set kicked_at = now() + interval '1 hour' where only_row`;
    await record(sql, "planner");
    assert.deepEqual(await sent(sql), [call]);
    // Also with the schedule of the sweep, for what is tried again.
    await sql`update agents.webhook_kicks set kicked_at = '-infinity' where only_row`;
    const [job] = await sql`select command from cron.job`;
    await sql.unsafe(job!["command"]);
    assert.deepEqual((await sent(sql)).slice(1).map(({ url }) => url.split("/").pop()).sort(), [
      "deliver",
      "sweep",
    ]);
  });
});

Deno.test("pg_net fails → the event and its delivery are there all the same", async () => {
  await withSchedule(async (sql) => {
    await sql`drop table net.sent`;
    await record(sql, "planner");
    const [row] = await sql`
      select count(*)::integer as deliveries from agents.webhook_deliveries
      where webhook_id = ${HOOK}`;
    assert.equal(row!["deliveries"], 1);
  });
});

Deno.test("a transaction that kicks and stays open → another one does not wait for it", async () => {
  await withSchedule(async (sql) => {
    await sql.begin(async (open) => {
      await record(open, "planner");
      await sql.begin(async (other) => {
        await other`set local lock_timeout = '1s'`;
        await record(other, "planner");
      });
    });
    assert.equal((await sent(sql)).length, 1);
    const rows = await sql`select from agents.webhook_deliveries`;
    assert.equal(rows.length, 2);
  });
});

Deno.test("a webhook of an erased agent, by its filter, its URL or its label → the name is gone; it has ended, unless only its label had the name", async () => {
  await withSchedule(async (sql) => {
    await sql`
      insert into agents.webhooks (webhook_id, url, label, encrypted_secret)
      values
        (${HOOK.replaceAll("1", "2")}, 'https://h.example.com/of/planner', null,
          'v1.0123456789abcdef.AAAA'),
        (${HOOK.replaceAll("1", "3")}, 'https://h.example.com/planners', 'for planner',
          'v1.0123456789abcdef.AAAA')`;
    await record(sql, "planner");
    let pseudonym: string | null = null;
    for (let remaining = true; remaining;) {
      const [row]: postgres.Row[] = await sql`
        select public.agent_api_erase_agent('planner', ${pseudonym}) as answer`;
      ({ pseudonym, remaining } = row!["answer"]);
    }
    const rows = await sql`
      select url, label, agent_id, end_reason from agents.webhooks order by webhook_id`;
    assert.deepEqual([...rows], [
      {
        url: "https://hooks.example.com/",
        label: null,
        agent_id: pseudonym,
        end_reason: "erased",
      },
      {
        url: `https://h.example.com/of/${pseudonym}`,
        label: null,
        agent_id: null,
        end_reason: "erased",
      },
      {
        url: "https://h.example.com/planners",
        label: `for ${pseudonym}`,
        agent_id: null,
        end_reason: null,
      },
    ]);
  });
});

Deno.test("after a restore → the id of an event that gets a number again is another one", async () => {
  await withSchedule(async (sql) => {
    await record(sql, "planner");
    const [begun] = await sql`select public.agent_api_after_restore() as answer`;
    await record(sql, "planner");
    const ids = (await sql`
      select message_id, event_id from agents.webhook_deliveries order by event_id`)
      .map(({ message_id, event_id }) => message_id.replace(event_id, "N"));
    assert.deepEqual(ids, ["evt_N", `evt_N-${begun!["answer"]["epoch"]}`]);
  });
});

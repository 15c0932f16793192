import assert from "node:assert/strict";
import { holdTransaction } from "../../../../tests/database/changes/held_transaction.ts";
import { Deployment, remedyIn } from "./deployment.ts";
import { mendAsPrinted } from "./remedies/printed.ts";

const METRIC = /^agent_events_held_seconds.*$/m;

async function metricOf({ stack }: Deployment): Promise<string> {
  const response = await fetch(`${stack.url}/functions/v1/agent-artifacts/metrics`, {
    headers: { apikey: stack.secretKey },
  });
  return METRIC.exec(await response.text())![0];
}

Deno.test("a session keeps a transaction open that has written something → once events wait for over a minute, doctor and /metrics name it; its end, pasted → healthy", async () => {
  await using deployment = await Deployment.open();
  const { sql, stack } = deployment;
  let pid = 0;
  const held = await holdTransaction(stack.superuserDatabaseUrl, async (own) => {
    await own`select set_config('application_name', 'import "of" the app', false)`;
    await own`create table public.app_import (number integer)`;
    [{ pid }] = await own`select pg_backend_pid() as pid` as unknown as [{ pid: number }];
  });
  const record = (age: string) =>
    sql`insert into agents.events (actor_kind, action, subject_agent_id, occurred_at)
      values ('operator', 'agent.tagged', 'planner', now() - ${age}::interval)`;

  assert.deepEqual(await deployment.complaints(), [], "no event waits");
  assert.equal(await metricOf(deployment), "agent_events_held_seconds 0");
  await sql.begin(async (own) => {
    await own`set local session_replication_role = replica`;
    await own`delete from agents.events where transaction_id >= agents.horizon()`;
  });
  await record("50 seconds");
  assert.deepEqual(await deployment.complaints(), [], "an event waits, for less than a minute");
  assert.match(await metricOf(deployment), /^agent_events_held_seconds 5\d$/);
  await sql.begin(async (own) => {
    await own`set local session_replication_role = replica`;
    await own`update agents.events set occurred_at = occurred_at - interval '2 minutes'
      where transaction_id >= agents.horizon()`;
  });

  const complaints = await deployment.complaints();
  assert.deepEqual(complaints.map(({ check, level }) => [check, level]), [
    ["log of events", "fault"],
  ]);
  assert.match(
    complaints[0]!.message,
    new RegExp(
      `^For 2 minutes, agents have seen no new event .* of session ${pid} \\(import "of" the app, role supabase_admin, database postgres, idle in transaction, open for \\d+ s\\)\\.$`,
    ),
  );
  assert.match(
    await metricOf(deployment),
    new RegExp(
      `^agent_events_held_seconds\\{pid="${pid}",application_name="import \\\\"of\\\\" the app",state="idle in transaction"\\} 1\\d\\d$`,
    ),
  );
  // The session belongs to a superuser here, so only a superuser may end it.
  const [paste] = complaints.map((complaint) => complaint.paste!.text);
  assert.equal(paste, `select pg_terminate_backend(${pid});`);
  await sql.unsafe(paste!);
  // Fails, or comes to nothing on another connection: see the table below.
  await held.commit().catch(() => {});
  assert.deepEqual(await deployment.complaints(), []);
  assert.equal((await sql`select to_regclass('public.app_import') as made`)[0]!["made"], null);
  await held[Symbol.asyncDispose]();
});

Deno.test("the log is held by a session of the app, a prepared transaction, or something that cannot be seen → its name, and what ends it", async () => {
  await using deployment = await Deployment.open();
  const findingOf = async (writer: object) => {
    const [complaint, ...others] = await deployment.complaintsThrough(async ({ path }, forward) => {
      if (!path.endsWith("/rpc/agent_api_inspect_deployment")) return undefined;
      const told = await (await forward()).json();
      const unknown = {
        pid: null,
        prepared: null,
        database: null,
        role: null,
        state: null,
        seconds: null,
      };
      const writers = [{ transaction: 901, ...unknown, application_name: null, ...writer }];
      return Response.json({ ...told, held_log: { since: told.time, seconds: 7_300, writers } });
    });
    assert.deepEqual(others, []);
    return complaint!;
  };
  const session = holdTransaction(deployment.stack.databaseUrl, async (own) => {
    await own`create table public.app_import (number integer)`;
  });
  await using held = await session;
  const [row] = await deployment.sql`
    select pid from pg_stat_activity where state = 'idle in transaction'`;
  const ofSession = await findingOf({ pid: row!["pid"], application_name: "\x1b[2J" });
  assert.match(ofSession.message, /^For 2 hours, .* of session \d+ \(�\[2J\)\.$/);
  await mendAsPrinted(deployment, [ofSession]);
  await held.commit().catch(() => {});
  assert.equal(
    (await deployment.sql`select to_regclass('public.app_import') as made`)[0]!["made"],
    null,
  );

  const ofPrepared = await findingOf({ prepared: "it's", database: "app", seconds: 90 });
  assert.match(
    remedyIn(ofPrepared),
    /^Commit or roll it back where it was prepared, the database app\. .* rollback prepared 'it''s';$/,
  );
  const ofUnknown = await findingOf({});
  assert.match(ofUnknown.message, / of transaction 901\.$/);
  assert.match(
    remedyIn(ofUnknown),
    /^As a superuser, .* where backend_xid = '901'\. Then end it\.$/,
  );
  await assert.doesNotReject(
    deployment.sql.unsafe(/select \* from [^.]+'901'/.exec(ofUnknown.remedy!)![0]),
  );
});

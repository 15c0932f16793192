import assert from "node:assert/strict";
import type postgres from "postgres";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import { publish } from "../../../../tests/conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  endCreatedAgents,
  post,
  SUPABASE_URL,
} from "../../../../tests/conformance/client.ts";
import { holdTransaction } from "../../../../tests/database/changes/held_transaction.ts";
import { SUPERUSER_URL, withStackDatabase } from "../../../../tests/database/connection.ts";
import { startDashboard } from "../../dashboard/server.ts";
import { programOf, runTask } from "../../../local/tests/stack/stack_process.ts";
import { parseRows, printed, rows, run } from "./run_report.ts";

const APPLICATION = "import of the app";
const HOLDER = /session (\d+) \(import of the app, role \w+, database \w+, idle in transaction, /;

interface Event {
  readonly event_id: string;
  readonly type: string;
  readonly final?: boolean;
}

/** Writes in a transaction of another database of the cluster, which stays open during `use`. */
async function whileAnotherWrites(
  use: (held: { pid: number; end: () => Promise<void> }) => Promise<void>,
): Promise<void> {
  const name = `app_${crypto.randomUUID().replaceAll("-", "_")}`;
  await withStackDatabase((sql) => sql`create database ${sql(name)} template template0`);
  try {
    const url = new URL(SUPERUSER_URL);
    url.pathname = `/${name}`;
    let pid = 0;
    const write = async (sql: postgres.Sql) => {
      await sql`select set_config('application_name', ${APPLICATION}, false)`;
      await sql`create table app_import (number integer)`;
      [{ pid }] = await sql`select pg_backend_pid() as pid` as unknown as [{ pid: number }];
    };
    await using held = await holdTransaction(url.href, write);
    // Nobody is told of a transaction that is younger than a second.
    await askUntil(([row]) => row!["is_older"], () =>
      withStackDatabase((sql) =>
        sql`
        select now() - xact_start > interval '1 second' as is_older
        from pg_stat_activity where pid = ${pid}`
      ));
    await use({ pid, end: () => held.commit() });
  } finally {
    await withStackDatabase((sql) => sql`drop database ${sql(name)} with (force)`);
  }
}

async function withAgent(use: (agent: Agent) => Promise<void>): Promise<void> {
  try {
    await use(await createAgent("held"));
  } finally {
    await endCreatedAgents();
  }
}

async function feedOf(agent: Agent, after?: string) {
  const { body } = await post("/agent-artifacts/events", { as: agent, body: { after } });
  return body as { events: { event_id: string; type: string }[]; latest: string };
}

Deno.test("trace, events and agent show while a transaction elsewhere is open → all that is committed, marked, and who holds the log; the agent's feed waits; after its end → the same, final", async () => {
  await whileAnotherWrites(async ({ pid, end }) => {
    await withAgent(async (agent) => {
      const { artifact_id } = await publish(agent);
      const types = ["key.created", "artifact.registered", "artifact.committed"];

      const trace = JSON.parse(await printed("trace", artifact_id, "--json"));
      assert.deepEqual(trace.events.map(({ type }: Event) => type), types.slice(1));
      assert.ok(trace.events.every(({ final }: Event) => final === false));
      assert.deepEqual(
        [trace.held.writers[0].pid, trace.held.writers[0].application_name],
        [pid, APPLICATION],
      );
      for (const command of ["trace", "agent_show"] as const) {
        const text = (await printed(command, agent.id)).replaceAll(/\s+/g, " ");
        assert.equal(text.match(/\(not final\)/g)?.length, types.length, text);
        assert.equal(HOLDER.exec(text)?.[1], String(pid), text);
      }

      const before: Event[][] = [];
      for (const question of [[], ["--since", "2m"], ["--all"], ["--sort", "type"]]) {
        const shown = await run("events", "--agent", agent.id, ...question, "--json");
        assert.equal(shown.code, 0, shown.errors);
        before.push(parseRows<Event>(shown.output));
        assert.deepEqual(
          before.at(-1)!.map(({ type, final }) => [type, final]),
          (question[0] === "--sort" ? types.toSorted() : types).map((type) => [type, false]),
        );
        assert.equal(HOLDER.exec(shown.errors)?.[1], String(pid), shown.errors);
      }
      const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
      try {
        for (const page of ["overview/", `agents/${agent.id}`]) {
          const text = await (await fetch(dashboard.url + page)).text();
          assert.ok(text.includes("not final"), page);
          assert.equal(HOLDER.exec(text)?.[1], String(pid), page);
        }
      } finally {
        await dashboard.stop();
      }

      const feed = await feedOf(agent);
      assert.deepEqual(feed.events, []);

      await end();
      await askUntil(
        ({ events }) => events.length === 2,
        () => feedOf(agent, feed.latest),
      );
      const after = await rows<Event>("events", "--agent", agent.id, "--since", "2m");
      assert.deepEqual(
        after.map(({ event_id, final }) => [event_id, final]),
        before[0]!.map(
          ({ event_id }) => [event_id, undefined],
        ),
      );
      assert.doesNotMatch(await printed("trace", artifact_id), /not final/);
    });
  });
});

Deno.test("events --follow while a transaction is open, and after it has added its event → each event once, also the late one", async () => {
  await withAgent(async (agent) => {
    const write = (sql: postgres.Sql) =>
      sql`insert into agents.events (actor_kind, action, subject_agent_id)
        values ('operator', 'agent.tagged', ${agent.id})`;
    await using held = await holdTransaction(SUPERUSER_URL, write);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--allow-all",
        ...programOf("agentops events"),
        "--agent",
        agent.id,
        "--type",
        "artifact.committed",
        "--type",
        "agent.tagged",
        "--follow",
        "--json",
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const texts = child.stdout.pipeThrough(new TextDecoderStream())
      [Symbol.asyncIterator]();
    const all: Event[] = [];
    let rest = "";
    const seen = async (count: number) => {
      while (all.length < count) {
        const { value, done } = await texts.next();
        assert.equal(done, false);
        const lines = (rest + value).split("\n");
        rest = lines.pop()!;
        all.push(...lines.map((line) => JSON.parse(line)));
      }
    };
    try {
      await publish(agent, { key: "one" });
      await seen(1);
      await publish(agent, { key: "two" });
      await seen(2);
      await held.commit();
      await seen(3);
      await publish(agent, { key: "three" });
      await seen(4);
      assert.deepEqual(all.map(({ type }) => type), [
        "artifact.committed",
        "artifact.committed",
        "agent.tagged",
        "artifact.committed",
      ]);
      assert.equal(new Set(all.map(({ event_id }) => event_id)).size, 4);
    } finally {
      child.kill("SIGTERM");
      await child.status;
    }
  });
});

Deno.test("agent erase while a transaction elsewhere is open → not complete, and whose transaction that is; after its end → complete", async () => {
  await whileAnotherWrites(async ({ pid, end }) => {
    const agent = await createAgent("held");
    await publish(agent);
    const erase = (...options: string[]) =>
      runTask("agentops agent erase", {
        args: [agent.id, "--confirm", agent.id, ...options],
      });
    const dry = await erase("--dry-run", "--json");
    assert.ok(JSON.parse(dry.output).would_erase.events >= 3, dry.output);
    const held = await erase();
    assert.equal(held.code, 1);
    assert.match(held.output, /^NOT COMPLETE \(\d+ events, /m);
    assert.equal(HOLDER.exec(held.output)?.[1], String(pid), held.output);
    await end();
    const ended = await erase("--json");
    assert.equal(ended.code, 0, ended.output + ended.errors);
    assert.deepEqual([JSON.parse(ended.output).complete, JSON.parse(ended.output).held_by], [
      true,
      [],
    ]);
  });
});

import assert from "node:assert/strict";
import {
  type Agent,
  createAgent,
  endCreatedAgents,
  operatorRpc,
} from "../../../../tests/conformance/client.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { parseRows, run } from "./run_report.ts";

interface Event {
  readonly type: string;
  readonly agent_id: string;
}

/** An agent with `newer` events of its artifacts after the event of its key. */
async function withBusyAgent(
  newer: number,
  use: (agent: Agent) => Promise<void>,
): Promise<void> {
  const agent = await createAgent("busy");
  try {
    await withStackDatabase((sql) =>
      sql`
        insert into agents.events (actor_kind, action, subject_agent_id, object_id)
        select 'operator', 'artifact.opened', ${agent.id}, 'art_' || i
        from generate_series(1, ${newer}) i`
    );
    await use(agent);
  } finally {
    await endCreatedAgents();
  }
}

/** A simulated deployment with an endless log, in which each event has another type. */
async function withEndlessLog(
  use: (environment: Record<string, string>, questions: readonly unknown[]) => Promise<void>,
): Promise<void> {
  const questions: { readonly before?: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const question = await request.json();
    if (request.url.endsWith("_describe_schema")) return Response.json({ migrations: null });
    questions.push(question);
    const day = new Date(Date.UTC(2026, 5, 30) - questions.length * 86_400_000).toISOString();
    return Response.json({
      events: [],
      latest: "1000000.0",
      more: false,
      next: null,
      held: null,
      earlier: `${1_000_000 - questions.length}.0`,
      looked_at: 1_100,
      looked_back_to: day,
    });
  });
  try {
    await use({
      SUPABASE_URL: `http://127.0.0.1:${server.addr.port}`,
      SUPABASE_SECRET_KEY: "sb_secret_x",
    }, questions);
  } finally {
    await server.shutdown();
  }
}

Deno.test("events --type of an event before thousands of newer ones → it is found", async () => {
  await withBusyAgent(3_000, async ({ id }) => {
    const { code, output, errors } = await run(
      "events",
      "--agent",
      id,
      "--type",
      "key.created",
      "--json",
    );
    assert.deepEqual([code, errors], [0, ""]);
    assert.deepEqual(
      parseRows<Event>(output).map(({ type, agent_id }) => [type, agent_id]),
      [["key.created", id]],
    );
  });
});

Deno.test("events --limit of more than a page → so many of the newest, oldest first, once", async () => {
  await withBusyAgent(3_000, async ({ id }) => {
    const { code, output, errors } = await run(
      "events",
      "--agent",
      id,
      "--limit",
      "2500",
      "--json",
    );
    assert.deepEqual([code, errors], [
      0,
      "These are the newest 2500. There may be older ones: --limit, --since or --all.",
    ]);
    assert.deepEqual(
      parseRows<{ artifact_id: string }>(output).map(({ artifact_id }) => artifact_id),
      Array.from({ length: 2_500 }, (_, index) => `art_${index + 501}`),
    );
  });
});

Deno.test("events --since of more than a hundred → the first hundred, and on standard error how to go on; with --all → every one, and nothing to say", async () => {
  await withBusyAgent(150, async ({ id }) => {
    const question = ["--agent", id, "--type", "artifact.opened", "--since", "1h", "--json"];
    const first = await run("events", ...question);
    assert.equal(parseRows(first.output).length, 100);
    const [, position] = /^These are the first 100\. There may be more: --after (\S+), or --all\.$/
      .exec(first.errors)!;
    const rest = await run("events", ...question, "--after", position!);
    assert.deepEqual([parseRows(rest.output).length, rest.errors], [50, ""]);
    const all = await run("events", ...question, "--all");
    assert.deepEqual([parseRows(all.output).length, all.errors], [150, ""]);
  });
});

Deno.test("events --sort by a column → the first of all events, however old, and on standard error of how many; --since → of those since then", async () => {
  await withBusyAgent(3_000, async ({ id }) => {
    for (const since of [[], ["--since", "1h"]]) {
      const { code, output, errors } = await run(
        "events",
        "--agent",
        id,
        "--type",
        "artifact.opened",
        "--sort",
        "what",
        "--limit",
        "3",
        "--json",
        ...since,
      );
      assert.deepEqual(
        [code, errors],
        [0, "These are the first 3 of 3000, by what. For more: --limit, or --all."],
      );
      assert.deepEqual(
        parseRows<{ artifact_id: string }>(output).map(({ artifact_id }) => artifact_id),
        ["art_1", "art_10", "art_100"],
      );
    }
  });
});

Deno.test("events --sort at → the newest, newest first, and standard error says that there may be older ones", async () => {
  await withBusyAgent(3_000, async ({ id }) => {
    await withStackDatabase((sql) =>
      sql`insert into agents.events (actor_kind, action, subject_agent_id, object_id, occurred_at)
        values ('operator', 'artifact.opened', ${id}, 'art_newest', now() + interval '1 minute')`
    );
    const { code, output, errors } = await run(
      "events",
      "--agent",
      id,
      "--sort",
      "at",
      "--limit",
      "2",
      "--json",
    );
    assert.deepEqual(
      [code, errors],
      [0, "These are the newest 2. There may be older ones: --limit, --since or --all."],
    );
    const [first, ...others] = parseRows<{ artifact_id: string }>(output);
    assert.deepEqual([first?.artifact_id, others.length], ["art_newest", 1]);
  });
});

Deno.test("events --type with a type that never happened → no row; standard error says that all events were searched", async () => {
  await withBusyAgent(3_000, async ({ id }) => {
    for (const since of [[], ["--since", "1h"]]) {
      const { code, output, errors } = await run(
        "events",
        "--agent",
        id,
        "--type",
        "psk.rotated",
        ...since,
      );
      assert.deepEqual([code, output], [0, ""]);
      assert.match(errors, /^No such event is on record/);
    }
  });
});

Deno.test("events --type in a log without an end → an end, and on standard error how far it looked and what looks further", async () => {
  await withEndlessLog(async (environment, questions) => {
    const { code, output, errors } = await runTask("agentops events", {
      args: ["--type", "key.created"],
      environment,
    });
    assert.deepEqual([code, output], [0, ""]);
    assert.ok(questions.length > 10 && questions.length <= 100, `${questions.length} calls`);
    const day = new Date(Date.UTC(2026, 5, 30) - questions.length * 86_400_000);
    assert.equal(
      errors,
      `Found 0 among the newest ${questions.length * 1_100} events, back to ${
        day.toISOString().replace(".000", "")
      }. To look further: --since or --all.`,
    );
    assert.deepEqual(
      questions.map((question) => (question as { before?: string | null }).before ?? null),
      questions.map((_, index) => index === 0 ? null : `${1_000_000 - index}.0`),
    );
  });
});

for (const type of ["artifact.open", "opened", "key.rotated"]) {
  Deno.test(`events --type ${type}, which there is not → refused, with the types that there are`, async () => {
    const { code, output, errors } = await run("events", "--type", type);
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, /^--type takes a type of events, such as artifact\.opened\. There are: /);
    for (const known of ["artifact.opened", "rule.activated", "key.created", "agent.removed"]) {
      assert.ok(errors.includes(known), errors);
    }
  });
}

for (const option of [[], ["--follow"], ["--refusals"], ["--since", "1h"], ["--all"]]) {
  Deno.test(`events ${option.join(" ")} --agent of an unknown agent → refused, and the command that shows the agents`, async () => {
    assert.deepEqual(await run("events", ...option, "--agent", "nobody-at-all"), {
      code: 1,
      output: "",
      errors:
        "Nothing names an agent nobody-at-all. agentops agent list shows those that are there.",
    });
  });
}

Deno.test("events --agent of one that was removed → its events", async () => {
  await withBusyAgent(3, async ({ id }) => {
    assert.equal((await operatorRpc("remove_agent", { agent_id: id })).status, 200);
    const { code, output } = await run(
      "events",
      "--agent",
      id,
      "--type",
      "artifact.opened",
      "--json",
    );
    assert.deepEqual([code, parseRows(output).length], [0, 3]);
  });
});

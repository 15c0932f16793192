import assert from "node:assert/strict";
import { artifactTest, grant, open, publish } from "../../../../tests/conformance/artifacts.ts";
import {
  createAgent,
  endCreatedAgents,
  operatorRpc,
  succeed,
} from "../../../../tests/conformance/client.ts";
import { endMadeEnrolments, put } from "../../../../tests/conformance/enrolment/enrolments.ts";
import { join } from "../../../../tests/conformance/mesh_cast.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { commandFilesIn, exampleArgs } from "./every_command.ts";
import { agentops } from "./in_process.ts";
import { linesInTerminal } from "./terminal.ts";
import { parseRows, run } from "./run_report.ts";

/** A long agent id, and a file's name of a length that is common. */
const LONG_AGENT = "l".repeat(60);
const LONG_KEY = `${"a-long-folder/".repeat(9)}july.pdf`;

interface Names {
  readonly agent: string;
  readonly artifact: string;
}

const SINCE = ["--since", "2d"];

/** Calls of commands. Those in `reports/` that are not here are called as in their example. */
const TABLES: readonly (readonly [words: string, args: (names: Names) => readonly string[]])[] = [
  ["agent list", () => ["--limit", "1000"]],
  ["events", ({ agent }) => ["--agent", agent]],
  ["events", ({ agent }) => ["--refusals", "--agent", agent, ...SINCE]],
  ["grants list", ({ agent }) => ["--of", agent]],
  ["mesh show", ({ agent }) => ["--agent", agent]],
  ["mesh show", ({ agent }) => ["--rules", "--agent", agent]],
  ["mesh show", ({ agent }) => ["--paths", "--agent", agent]],
  ["trace", ({ artifact }) => [artifact]],
  ["usage", ({ agent }) => ["--agent", agent, ...SINCE]],
  ["enrolment list", () => []],
];

/** The calls of every command that only reads. */
async function everyCall(
  names: Names,
): Promise<(readonly [words: string, args: readonly string[]])[]> {
  const calls: (readonly [string, readonly string[]])[] = TABLES
    .map(([words, argsOf]) => [words, argsOf(names)]);
  for (const file of await commandFilesIn("reports/")) {
    const words = file.words!.replace("agentops ", "");
    if (calls.some(([called]) => called === words)) continue;
    calls.push([words, exampleArgs(file, { planner: names.agent })]);
  }
  return calls;
}

Deno.test("every table of the operator in a terminal of 80 columns, with long names → no line is wider, and nothing is left out", async (t) => {
  try {
    const agent = await createAgent(LONG_AGENT);
    const other = await createAgent(`o${LONG_AGENT}`);
    const artifact = await publish(agent, { key: LONG_KEY });
    const { grant_id } = await grant(agent, artifact, { to: other });
    await open(other, artifact);
    const body = { from_agent: agent.id, to_agent: other.id, port: 443, proto: "tcp" };
    for (const as of [agent, other]) {
      await succeed("/agent-mesh/acl/put", { as, body });
      await join(as, { endpoint: `${"e".repeat(60)}.example.com:51820` });
    }
    await put({
      label: "l".repeat(128),
      agent_id: `${agent.id}-of-the-enrolment`,
      tags: [`tag:${"t".repeat(63)}`, `tag:${"u".repeat(63)}`],
    });
    // The functions write both tables only once a minute.
    await withStackDatabase(async (sql) => {
      await sql`insert into agents.usage (agent_id, day, requests, refusals, artifacts, bytes, grants)
        values (${agent.id}, current_date - 1, 1e9, 1e9, 1e9, 1e12, 1e9)`;
      await sql`insert into agents.refusals (agent_id, hour, kind, count)
        values (${agent.id}, date_trunc('hour', now() - interval '1 day'), 'grant_not_found', 1e9)`;
    });
    const names = { agent: agent.id, artifact: artifact.artifact_id };
    for (const [words, args] of await everyCall(names)) {
      await t.step([words, ...args].join(" "), async () => {
        const program = `agentops ${words}`;
        const lines = await linesInTerminal(program, args, 80);
        assert.ok(lines.length >= 1, words);
        assert.deepEqual(lines.filter((line) => line.length > 80), []);
        const text = lines.join("").replaceAll(/\s/g, "");
        if (words === "grants list") {
          for (const shown of [grant_id, artifact.artifact_id, agent.id, other.id, LONG_KEY]) {
            assert.ok(text.includes(shown), `${shown} in ${lines.join("\n")}`);
          }
        }
        const json = await agentops(words, [...args, "--json"]);
        assert.ok(parseRows(json.output).length > 0, `${words}: ${json.errors}`);
      });
    }
  } finally {
    await endMadeEnrolments();
    await endCreatedAgents();
  }
});

Deno.test("usage, agent list and grants with --sort → by that column, the most first; by an unknown column → refused", async () => {
  try {
    const names: string[] = [];
    for (const size of [1, 3, 2]) {
      const agent = await createAgent(`sorted-${size}`);
      await publish(agent, { content: "x".repeat(size * 1000) });
      names.push(agent.id);
    }
    const { output } = await run("agent_list", "--sort", "bytes", "--limit", "1000000", "--json");
    const sorted = parseRows<{ agent_id: string; bytes: number }>(output);
    assert.deepEqual(
      sorted.map(({ agent_id }) => agent_id).filter((name) => names.includes(name)),
      [names[1], names[2], names[0]],
    );
    const bytes = sorted.map((row) => row.bytes);
    assert.deepEqual(bytes, bytes.toSorted((one, two) => two - one));
    const top = await run("agent_list", "--sort", "bytes", "--limit", "1", "--json");
    assert.equal(parseRows<{ agent_id: string }>(top.output).length, 1);
    assert.equal(
      top.errors,
      `These are the first 1 of ${sorted.length}, by bytes. For more: --limit, or --all.`,
    );
    const wrong = await run("agent_list", "--sort", "colour");
    assert.equal(wrong.code, 2);
    assert.match(wrong.errors, /--sort takes a column: agent, keys, expired, last-used, /);
  } finally {
    await endCreatedAgents();
  }
});

artifactTest(
  "events --until → what was there up to then, also with --since, and none newer",
  async ({ planner }) => {
    await publish(planner);
    const between = new Date().toISOString();
    await publish(planner);
    const types = async (...args: string[]) =>
      parseRows<{ type: string }>(
        (await run("events", "--agent", planner.id, ...args, "--json")).output,
      )
        .map(({ type }) => type);
    const before = ["key.created", "artifact.registered", "artifact.committed"];
    assert.deepEqual(await types("--until", between), before);
    assert.deepEqual(await types("--since", "1h", "--until", between), before);
    assert.deepEqual(await types("--all", "--until", between), before);
    const after = ["artifact.registered", "artifact.committed", "artifact.superseded"];
    assert.deepEqual(await types("--since", between), after);
    const refused = await run("events", "--follow", "--until", between);
    assert.deepEqual([refused.code, refused.output], [1, ""]);
  },
);

artifactTest(
  "trace of a file by its name, its id, its grant, its agent and its agent key → its life, also after it has gone",
  async ({ planner, builder }) => {
    const key = `trace/${crypto.randomUUID()}.txt`;
    const older = await publish(planner, { key, content: "older" });
    const newer = await publish(planner, { key, content: "newer" });
    const { grant_id } = await grant(planner, older, { to: builder });
    await open(builder, older);

    const byName = await run("trace", key, "--of", planner.id);
    assert.match(byName.output, new RegExp(`^${older.artifact_id} +superseded `, "m"));
    assert.match(byName.output, new RegExp(`^${newer.artifact_id} +committed `, "m"));
    const byId = await run("trace", older.artifact_id);
    for (
      const shown of [
        "superseded",
        "artifact.registered",
        "grant.created",
        "artifact.opened",
        `superseded_by=${newer.artifact_id}`,
        builder.id,
        `key=${key}`,
        builder.keyId,
      ]
    ) {
      assert.ok(byId.output.includes(shown), `${shown} in ${byId.output}`);
    }
    assert.ok(byId.output.split("\n").every((line) => line.length <= 80), byId.output);
    const { output } = await run("trace", builder.keyId, "--json");
    const [ofKey] = parseRows<{ kind: string; events: { type: string }[] }>(output);
    assert.equal(ofKey!.kind, "key");
    assert.deepEqual(ofKey!.events.map(({ type }) => type), ["key.created", "artifact.opened"]);
    assert.match((await run("trace", grant_id)).output, /grant\.created/);

    await operatorRpc("remove_agent", { agent_id: planner.id });
    const gone = await run("trace", key);
    assert.match(gone.output, new RegExp(`^${newer.artifact_id} +deleted `, "m"));
    assert.match(gone.output, /artifact\.deleted/);
    assert.match((await run("trace", planner.id)).output, /agent\.removed/);
    const unknown = await run("trace", "no-such-file-at-all");
    assert.equal(unknown.code, 1);
    assert.match(unknown.errors, /^Nothing on record names no-such-file-at-all/);
  },
);

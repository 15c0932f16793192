import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../../../tests/conformance/artifacts.ts";
import { createAgent, endCreatedAgents } from "../../../../tests/conformance/client.ts";
import { meshTest, pairUp } from "../../../../tests/conformance/mesh_cast.ts";
import { programOf, runTask } from "../../../local/tests/stack/stack_process.ts";
import { newTag, setTags } from "../../../../tests/conformance/tags/tagged.ts";
import { agentops } from "./in_process.ts";
import { printed, rows, run } from "./run_report.ts";

Deno.test("a task with an option that it does not have → exit code 2, the nearest one, where its help is", async () => {
  const { code, output, errors } = await run("agent_show", "planner", "--colour");
  assert.deepEqual([code, output, errors], [
    2,
    "",
    "agentops agent show: unknown option: --colour. See: agentops agent show --help",
  ]);
  const mistyped = await run("agent_list", "--limi", "1", "--json");
  assert.equal(mistyped.code, 2);
  assert.deepEqual(JSON.parse(mistyped.errors), {
    error: { code: "usage", message: "unknown option: --limi. Did you mean --limit?" },
  });
  assert.match((await run("agent_show")).errors, /^agentops agent show: Name one agent\. See: /);
});

Deno.test("agent show of an unknown agent → refused, and the command that shows the agents", async () => {
  assert.deepEqual(await run("agent_show", "nobody-at-all"), {
    code: 1,
    output: "",
    errors: "Nothing names an agent nobody-at-all. agentops agent list shows those that are there.",
  });
});

for (
  const [command, option, sentence] of [
    ["agent_list", ["--limit", "0"], /^--limit takes a number of rows\.$/],
    ["events", ["--since", "yesterday"], /^--since takes how long ago, such as 90m, 2h or 7d, /],
    [
      "events",
      ["--type", "opened"],
      /^--type takes a type of events, such as artifact\.opened\. There are: agent\.enrolled, /,
    ],
    ["events", ["--refusals", "--follow"], /combine it only with --agent and --since/],
    ["mesh", ["--rules", "--mermaid"], /^Choose one of --rules, --paths and --mermaid\.$/],
    [
      "events",
      ["--after", "9000000000000000000.0"],
      /position_expired \(path: after\)$/,
    ],
  ] as const
) {
  Deno.test(`${command} ${option.join(" ")} → one sentence that says what to do`, async () => {
    const { code, output, errors } = await run(command, ...option);
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, sentence);
    assert.equal(errors.split("\n").length, 1);
  });
}

for (
  const [program, ...args] of [
    ["grants", "--of", "nobody-at-all"],
    ["grants", "--to", "nobody-at-all"],
    ["usage", "--agent", "nobody-at-all"],
    ["mesh", "--agent", "nobody-at-all"],
    ["mesh", "--rules", "--agent", "nobody-at-all"],
    ["mesh", "--paths", "--agent", "nobody-at-all"],
    ["mesh", "--mermaid", "--agent", "nobody-at-all"],
    ["grants revoke", "--by", "nobody-at-all", "--yes"],
    ["grants revoke", "--by", "nobody-at-all", "--dry-run"],
    ["psk rotate", "nobody-at-all"],
    ["psk rotate", "nobody-at-all", "--dry-run"],
  ] as const
) {
  Deno.test(`${program} ${args.join(" ")} → refused: nothing names that agent`, async () => {
    assert.deepEqual(await agentops(program, args), {
      code: 1,
      output: "",
      errors:
        "Nothing names an agent nobody-at-all. agentops agent list shows those that are there.",
    });
  });
}

Deno.test("agent tag and agent limit of an agent that is to come → done, and standard error says that nothing names it; once it is named, nothing", async () => {
  const id = `to-come-${crypto.randomUUID().slice(0, 8)}`;
  const tag = () => agentops("agent tag", [id, "tag:eu"]);
  const limit = (quota: string) => agentops("agent limit", [id, "--quota", quota]);
  const first = await tag();
  assert.deepEqual([first.code, first.output], [0, `${id}: tag:eu`]);
  assert.match(
    first.errors,
    /^Nothing names an agent to-come-.* The change is for a future agent of that name\.$/,
  );
  assert.deepEqual(await tag(), { code: 0, output: `${id}: tag:eu`, errors: "" });
  assert.equal((await limit("none")).errors, "");
});

Deno.test("agent list --limit 2, then --after what it says → the next agents, and none twice", async () => {
  try {
    const name = `page-${crypto.randomUUID().slice(0, 8)}`;
    for (const number of ["1", "2", "3"]) await createAgent(`${name}-${number}`);
    const first = await run("agent_list", "--json", "--limit", "2", "--after", `${name}-`);
    const [, position] = /^There may be more: --after '([^']+)', or --all\.$/.exec(first.errors)!;
    const second = await rows<{ agent_id: string }>(
      "agent_list",
      "--limit",
      "1",
      "--after",
      position!,
    );
    const names = [...first.output.split("\n").map((line) => JSON.parse(line)), ...second]
      .map(({ agent_id }) => agent_id.slice(0, name.length + 2));
    assert.deepEqual(names, [`${name}-1`, `${name}-2`, `${name}-3`]);
  } finally {
    await endCreatedAgents();
  }
});

artifactTest(
  "agent list and agent show of an agent with an artifact → what it holds beside its limits, and its keys",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { content: "hello" });
    await grant(planner, artifact, { to: builder });
    const line = await printed("agent_list", "--limit", "1", "--after", planner.id.slice(0, -1));
    assert.match(line, new RegExp(`^${planner.id}\t1\t0\t[^\t]*\t1 of 100000\t5 B$`));

    const shown = await printed("agent_show", planner.id);
    assert.match(shown, new RegExp(`^agent +${planner.id}\n`));
    assert.match(shown, /^artifacts +1 of 100000, 0 pending$/m);
    assert.match(shown, /^live grants +1 given, 0 received$/m);
    assert.match(shown, /^peer +none$/m);
    assert.match(shown, new RegExp(`^${planner.keyId} +live\\b`, "m"));
    assert.match(await printed("agent_show", builder.id), /^live grants +0 given, 1 received$/m);
  },
);

Deno.test("agent list where the function tells its settings → these limits, not those of the environment", async () => {
  const agent = {
    agent_id: "planner",
    live_keys: 1,
    expired_keys: 0,
    last_used_at: null,
    artifacts: 3,
    bytes: 512,
    has_peer: false,
    last_seen: null,
  };
  const settings = { ARTIFACTS_MAX_ARTIFACTS: 7, ARTIFACTS_QUOTA_BYTES: 1024 };
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(`${request.headers.get("apikey")} ${pathname}`);
    return Response.json(
      pathname.endsWith("/health") ? { status: "ok", settings } : { found: [agent], next: null },
    );
  });
  try {
    const { code, output, errors } = await runTask("agentops agent list", {
      environment: {
        SUPABASE_URL: `http://127.0.0.1:${server.addr.port}`,
        SUPABASE_SECRET_KEY: "sb_secret_x",
        ARTIFACTS_MAX_ARTIFACTS: "9",
      },
    });
    assert.deepEqual([code, errors], [0, ""]);
    assert.equal(output, "planner\t1\t0\t\t3 of 7\t512 B of 1.0 KiB");
    assert.deepEqual(asked, [
      "sb_secret_x /functions/v1/agent-artifacts/health",
      "sb_secret_x /rest/v1/rpc/agent_api_describe_schema",
      "sb_secret_x /rest/v1/rpc/agent_api_list_agents",
    ]);
  } finally {
    await server.shutdown();
  }
});

meshTest(
  "mesh of two agents → a line each; mesh --rules → the rule between them",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const lines = (await printed("mesh", "--agent", alice.id)).split("\n");
    assert.deepEqual(lines.map((line) => line.split("\t").slice(0, 5)), [
      [alice.id, "no", "never", "none", "not reported"],
      [bob.id, "no", "never", "none", "not reported"],
    ]);
    assert.equal(
      await printed("mesh", "--rules", "--agent", bob.id),
      [alice.id, bob.id, "tcp", "443", "active", "agents"].join("\t"),
    );
    const tag = newTag();
    await setTags(alice, tag);
    // An agent without a peer is not listed.
    await setTags(await createAgent("unregistered"), tag);
    assert.match(await printed("mesh", "--tag", tag), new RegExp(`^${alice.id}\t[^\n]+$`));
    assert.match(await printed("agent_show", alice.id), /^peer +offline, last seen never$/m);
  },
);

Deno.test("events --follow → what was there, then what comes, until it is ended", async () => {
  const watched = await createAgent("watched");
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      ...programOf("agentops events"),
      "--agent",
      watched.id,
      "--follow",
      "--json",
    ],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  try {
    const types: string[] = [];
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      types.push(...lines.map((line) => JSON.parse(line).type));
      // Cause the other events only after the command has shown the first one.
      if (types.length === 1) await endCreatedAgents();
      if (types.includes("agent.removed")) break;
    }
    assert.deepEqual(types, ["key.created", "key.revoked", "agent.removed"]);
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
});

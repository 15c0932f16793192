import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { operatorRpc, succeed } from "../../../../tests/conformance/client.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { parseRows } from "./run_report.ts";

interface Made {
  readonly agent_id: string;
  readonly key_id: string;
  readonly key: string;
}

/** Runs agent create with a file of these lines, and removes the agents that it names. */
async function createFrom(
  lines: readonly string[],
  args: readonly string[],
  check: (
    result: Awaited<ReturnType<typeof runTask>> & { readonly file: string },
  ) => Promise<void>,
): Promise<void> {
  const file = await Deno.makeTempFile();
  try {
    await writeFile(file, `${lines.join("\n")}\n`);
    const options = { args: ["--file", file, ...args] };
    await check({ ...await runTask("agentops agent create", options), file });
  } finally {
    await rm(file);
    for (const line of lines) {
      const agent_id = line.split(" ")[0]!;
      if (agent_id !== "" && agent_id !== "#") await operatorRpc("remove_agent", { agent_id });
    }
  }
}

function namesOf(count: number): string[] {
  const run = crypto.randomUUID().slice(0, 8);
  return Array.from({ length: count }, (_, index) => `many-${run}-${index}`);
}

async function liveKeysOf(agent_id: string): Promise<number> {
  const { body } = await operatorRpc<{ live_keys: number } | null>("read_agent", { agent_id });
  return body?.live_keys ?? 0;
}

Deno.test("agent create --file with 250 agents → a key for each, in the file's order, and each is let in", async () => {
  const names = namesOf(250);
  const lines = ["# the build servers", "", ...names.map((name) => `${name} for a  build`)];
  await createFrom(lines, ["--json"], async ({ code, output, errors }) => {
    assert.deepEqual([code, errors], [0, ""]);
    const made = parseRows<Made>(output);
    assert.deepEqual(made.map(({ agent_id }) => agent_id), names);
    assert.equal(new Set(made.map(({ key }) => key)).size, names.length);
    const { key, key_id, agent_id } = made.at(-1)!;
    const sender = { headers: { authorization: `Bearer ${key}` } };
    await succeed("/agent-artifacts/list", { as: sender });
    const { body } = await operatorRpc<{ keys: { key_id: string; label: string }[] }>(
      "read_agent",
      { agent_id },
    );
    assert.deepEqual(
      body.keys.map(({ key_id, label }) => [key_id, label]),
      [[key_id, "for a build"]],
    );
  });
});

Deno.test("agent create --file for a program → agent, key id and key with tabs", async () => {
  const [name] = namesOf(1) as [string];
  await createFrom([name], [], async ({ code, output }) => {
    assert.equal(code, 0);
    assert.match(output, new RegExp(`^${name}\tkey_[0-9a-f]{32}\tak_[0-9a-f]{64}$`));
    assert.equal(await liveKeysOf(name), 1);
  });
});

Deno.test("agent create --file that is refused midway → the keys before it stay and are shown, and where to go on", async () => {
  const [first, full, last] = namesOf(3) as [string, string, string];
  const keys = Array.from({ length: 100 }, () => ({ agent_id: full }));
  assert.equal((await operatorRpc("create_agent_keys", { keys })).status, 200);
  await createFrom([first, full, last], ["--json"], async ({ code, output, errors }) => {
    assert.equal(code, 1);
    assert.deepEqual(parseRows<Made>(output).map(({ agent_id }) => agent_id), [first]);
    assert.equal(
      JSON.parse(errors).error.message,
      `1 of 3 agent keys were made, and shown above. Line 2 (${full}) was refused: limit_exceeded (limit: agent_keys, maximum: 100). Correct it, and run this again with the lines from 2 on.`,
    );
    assert.deepEqual(
      [await liveKeysOf(first), await liveKeysOf(full), await liveKeysOf(last)],
      [1, 100, 0],
    );
  });
});

Deno.test("agent create --file with a line that is no agent → refused before any key is made", async () => {
  const [name] = namesOf(1) as [string];
  await createFrom([name, "", "-wrong"], [], async ({ code, output, errors, file }) => {
    assert.deepEqual([code, output], [1, ""]);
    assert.ok(errors.startsWith(`Line 3 of ${file} does not begin with an agent_id: `), errors);
    assert.equal(await liveKeysOf(name), 0);
  });
});

Deno.test("agent create --file without a database that answers → says that nothing was shown, and how to look", async () => {
  const [name] = namesOf(1) as [string];
  const file = await Deno.makeTempFile();
  try {
    await writeFile(file, name);
    const { code, output, errors } = await runTask("agentops agent create", {
      args: ["--file", file],
      environment: { SUPABASE_URL: "http://127.0.0.1:9", SUPABASE_SECRET_KEY: "sb_secret_x" },
    });
    assert.deepEqual([code, output], [1, ""]);
    assert.match(
      errors,
      /^0 of 1 agent keys were made, and shown above\. Then: .* does not answer/,
    );
    assert.match(errors, /agentops events --type key\.created/);
  } finally {
    await rm(file);
  }
});

for (const args of [[], ["planner", "--file", "agents.txt"]]) {
  Deno.test(`agentops agent create ${args.join(" ")} → asks for one of the two`, async () => {
    assert.deepEqual(await runTask("agentops agent create", { args }), {
      code: 2,
      output: "",
      errors:
        "agentops agent create: Name one agent, or a file of agents. See: agentops agent create --help",
    });
  });
}

Deno.test("agent create --file of a file that is not there → one sentence", async () => {
  const { code, errors } = await runTask("agentops agent create", {
    args: ["--file", "/nonexistent"],
  });
  assert.deepEqual([code, errors], [1, "/nonexistent cannot be read."]);
});

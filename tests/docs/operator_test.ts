import assert from "node:assert/strict";
import { SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

const AGENT_KEY = /^ak_[0-9a-f]{64}$/m;

/**
 * Removes the connection from the environment, and names a state directory without a stack.
 */
const ELSEWHERE = { SUPABASE_URL: "", SUPABASE_SECRET_KEY: "", STATE_DIR: "/nonexistent" };

/** A block with its names replaced by this test's agents. */
function withOwnAgents(block: string, names: readonly string[]): string {
  const suffix = crypto.randomUUID().slice(0, 8);
  return names.reduce((text, name) => text.replaceAll(name, `${name}-${suffix}`), block);
}

Deno.test("docs/deployment.md, Agent keys → the key alone is printed, then revoked", async () => {
  await using terminal = await Terminal.open({ environment: ELSEWHERE });
  const connect = filledIn(await documentedBlock("docs/deployment.md, Agent keys, 1"));
  assert.equal(await terminal.paste(connect, { typed: `${SECRET_KEY}\n` }), "");
  const keys = await documentedBlock("docs/deployment.md, Agent keys, 2");
  const printed = await terminal.paste(withOwnAgents(keys, ["planner"]));
  assert.match(printed, AGENT_KEY);
  assert.equal(printed.replace(AGENT_KEY, "").trim(), '{"revoked":1}');
});

Deno.test("docs/deployment.md, Revoke or remove an agent → its key is ended", async () => {
  await using terminal = await Terminal.open();
  const name = `planner-${crypto.randomUUID().slice(0, 8)}`;
  await terminal.paste(`npx -y deno@2.9.6 task agentops agent create ${name}`);
  const block = await documentedBlock("docs/deployment.md, Revoke or remove an agent, 1");
  const printed = await terminal.paste(block.replace("planner", name));
  assert.equal(printed.trim(), '{"keys":1,"peer":false,"grants":0,"artifacts":0}');
});

Deno.test("docs/deployment.md, Check it → the doctor looks at everything", async () => {
  await using terminal = await Terminal.open();
  const doctor = (await documentedBlock("docs/deployment.md, Check it, 1")).trimEnd();
  // Other tests create faults on purpose, so the doctor may find some.
  const printed = await terminal.paste(`${doctor} || [[ $? == 1 ]]`);
  assert.match(printed, /^(?:ok|fault) +migrations /m);
  assert.match(printed, /^(?:Healthy|Not healthy): \d+ faults?, \d+ notes?\.$/m);
});

Deno.test("docs/development.md, With supabase start → the exports lead the operator's tasks there", async () => {
  await using terminal = await Terminal.open({ environment: ELSEWHERE });
  const block = filledIn(await documentedBlock("docs/development.md, With supabase start, 3"))
    .replace("http://127.0.0.1:54321", SUPABASE_URL);
  assert.match(await terminal.paste(withOwnAgents(block, ["planner"])), AGENT_KEY);
});

Deno.test("docs/development.md, The local stack → the second terminal knows the URL and the keys", async () => {
  const { SUPABASE_URL: _, SUPABASE_SECRET_KEY: __, ...others } = ELSEWHERE;
  await using terminal = await Terminal.open({
    environment: { ...ELSEWHERE, ...others, STATE_DIR: Deno.env.get("STATE_DIR")! },
  });
  await terminal.paste(await documentedBlock("docs/development.md, The local stack, 1"));
  const printed = await terminal.paste("env | grep ^SUPABASE_ | sort");
  assert.match(printed, new RegExp(`^SUPABASE_URL=${SUPABASE_URL}$`, "m"));
  assert.match(printed, new RegExp(`^SUPABASE_SECRET_KEY=${SECRET_KEY}$`, "m"));
});

Deno.test("docs/development.md, With supabase start → an env file with a key of 32 bytes", async () => {
  await using terminal = await Terminal.open();
  const functions = `${terminal.home}/supabase/functions`;
  const example = new URL("../../supabase/functions/.env.example", import.meta.url);
  await Deno.mkdir(functions, { recursive: true });
  await Deno.copyFile(example, `${functions}/.env.example`);
  await terminal.paste(await documentedBlock("docs/development.md, With supabase start, 1"));
  const lines = (await Deno.readTextFile(`${functions}/.env`)).split("\n");
  const key = lines.find((line) => line.startsWith("PSK_ENCRYPTION_KEYS="))!;
  assert.match(key, /^PSK_ENCRYPTION_KEYS=[A-Za-z0-9+/]{43}=$/);
  const before = (await Deno.readTextFile(example)).split("\n");
  assert.deepEqual(
    lines.filter((line) => line !== key),
    before.filter((line) => line !== "PSK_ENCRYPTION_KEYS="),
  );
});

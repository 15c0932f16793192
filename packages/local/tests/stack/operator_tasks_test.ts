import assert from "node:assert/strict";
import postgres from "postgres";
import { runTask } from "./stack_process.ts";

function createKey(...args: string[]) {
  return runTask("agentops agent create", { args });
}

function revoke(target: string, ...args: string[]) {
  return runTask("agentops agent revoke", {
    args: [target, ...(args.length > 0 ? args : ["--yes"])],
  });
}

/** A name that no other test uses. */
function agentId(prefix: string): string {
  return prefix + crypto.randomUUID().slice(0, 13);
}

/** The id of the key that agent create made, from its standard error. */
function keyIdIn(errors: string): string {
  return /^Key (key_[0-9a-f]{32}) of /.exec(errors)![1]!;
}

const NO_KEY = "Nothing was revoked: no live agent key has this key_id.";
const NO_AGENT = "Nothing was revoked: this agent has no live agent key.";

Deno.test("agent revoke of an agent whose name begins with key_ → its keys end; again → refused", async () => {
  const agent = agentId("key_");
  assert.equal((await createKey(agent)).code, 0);
  assert.deepEqual(await revoke(agent), { code: 0, output: '{"revoked":1}', errors: "" });
  assert.deepEqual(await revoke(agent), { code: 1, output: "", errors: NO_AGENT });
});

Deno.test("agent revoke of a key_id → that key alone ends; again → refused", async () => {
  const agent = agentId("two-keys-");
  const keyId = keyIdIn((await createKey(agent)).errors);
  await createKey(agent);
  assert.deepEqual(await revoke(keyId), { code: 0, output: '{"revoked":1}', errors: "" });
  assert.deepEqual(await revoke(keyId), { code: 1, output: "", errors: NO_KEY });
  assert.equal((await revoke(agent)).output, '{"revoked":1}', "the other key was live");
});

Deno.test("agent revoke without --yes and without a terminal → refused with the counts, exit code 2; --dry-run → the counts alone; neither ends a key", async () => {
  const agent = agentId("asked-");
  const keyId = keyIdIn((await createKey(agent)).errors);
  await createKey(agent);
  const named = { [keyId]: 1, [agent]: 2 };
  for (const [target, count] of Object.entries(named)) {
    const what = `${count} live agent keys of ${agent}, which keeps ${2 - count} live ones`;
    const dry = await revoke(target, "--dry-run");
    const told = `Would end: ${what}. Nothing was changed.`;
    assert.deepEqual(dry, { code: 0, output: told, errors: "" });
    const { output } = await revoke(target, "--dry-run", "--json");
    assert.equal(JSON.parse(output).would_end.live_agent_keys, count);
    const refused = await runTask("agentops agent revoke", { args: [target] });
    assert.deepEqual([refused.code, refused.output], [2, ""]);
    assert.ok(
      refused.errors.includes(`This ends ${what}. Nothing was changed: pass --yes`),
      refused.errors,
    );
  }
  assert.equal((await revoke(agent)).output, '{"revoked":2}', "both were live");
});

Deno.test("agent revoke of an unknown key → refused, and no key ends", async () => {
  const agent = agentId("bystander-");
  const keyId = keyIdIn((await createKey(agent)).errors);
  const unknown = `key_${"0".repeat(32)}`;
  assert.deepEqual(await revoke(unknown), { code: 1, output: "", errors: NO_KEY });
  for (const target of [agentId("nobody-"), keyId.slice(0, -1), keyId.toUpperCase()]) {
    assert.deepEqual(await revoke(target), { code: 1, output: "", errors: NO_AGENT });
  }
  assert.equal((await revoke(keyId)).output, '{"revoked":1}', "the key was live");
});

Deno.test("agent create that the database refuses → says what is wrong, and there is no key", async () => {
  const agent = agentId("late-");
  assert.deepEqual(await createKey(agent, "--expires-at", "2020-01-01T00:00:00Z"), {
    code: 1,
    output: "",
    errors:
      "create_agent_key was refused (HTTP 422): invalid_request (expires_at: Must lie in the future.)",
  });
  assert.equal((await revoke(agent)).errors, NO_AGENT);
  assert.match(
    (await createKey("a b")).errors,
    /^create_agent_key was refused \(HTTP 422\): invalid_request \(agent_id: Must be 1 to 128 of /,
  );
});

for (
  const text of [
    "tomorrow",
    "infinity",
    "01/02/2027",
    "2999-01-01",
    "2999-01-01 00:00:00Z",
    "2999-01-01T00:00:00",
    "2999-01-01T00:00:00+01:00",
    "2999-02-30T00:00:00Z",
    "",
  ]
) {
  Deno.test(`agentops agent create --expires-at "${text}" → one sentence, and there is no key`, async () => {
    const agent = agentId("undated-");
    assert.deepEqual(await createKey(agent, "--expires-at", text), {
      code: 1,
      output: "",
      errors:
        "--expires-at must be an ISO 8601 timestamp in UTC, such as 2027-01-31T09:30:00Z. No agent key was made.",
    });
    assert.equal((await revoke(agent)).errors, NO_AGENT);
  });
}

Deno.test("agent create --expires-at with an ISO 8601 timestamp in UTC → a key that ends then", async () => {
  const agent = agentId("dated-");
  const created = await createKey(agent, "--expires-at", "2999-01-01T00:00:00.5+00:00");
  assert.equal(created.code, 0, created.errors);
  const sql = postgres(Deno.env.get("SUPABASE_SUPERUSER_DB_URL")!, { max: 1 });
  try {
    const [row] = await sql`select expires_at from agents.keys where agent_id = ${agent}`;
    assert.equal(row?.["expires_at"].toISOString(), "2999-01-01T00:00:00.500Z");
  } finally {
    await sql.end();
  }
});

for (const text of ["planner builder", "planner --expires", "planner --label"]) {
  Deno.test(`agentops agent create with "${text}" → how it is called`, async () => {
    const { code, errors } = await createKey(...text.split(" ").filter(Boolean));
    assert.equal(code, 2);
    assert.match(errors, /^agentops agent create: .*[.?] See: agentops agent create --help$/);
  });
}

for (
  const [name, answer, sentence] of [
    [
      "details that name a limit",
      JSON.stringify({
        message: "limit_exceeded",
        details: '{"limit":"agent_keys","maximum":100}',
      }),
      "limit_exceeded (limit: agent_keys, maximum: 100)",
    ],
    [
      "several issues",
      JSON.stringify({
        message: "invalid_request",
        details: '{"issues":[{"path":"a","message":"Required."},{"path":"b","message":"Wrong."}]}',
      }),
      "invalid_request (a: Required. b: Wrong.)",
    ],
    [
      "details that quote a row",
      JSON.stringify({ message: "violates", details: "Failing row contains (sb_secret_x, ak_x)." }),
      "violates",
    ],
    ["no details", JSON.stringify({ message: "violates", details: null }), "violates"],
    ["what is no JSON", "Bad gateway", "Bad gateway"],
  ] as const
) {
  Deno.test(`an operator call refused with ${name} → ${sentence}`, async () => {
    const respond = () => new Response(answer, { status: 400 });
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, respond);
    try {
      const { code, errors } = await runTask("agentops agent create", {
        args: ["planner"],
        environment: {
          SUPABASE_URL: `http://127.0.0.1:${server.addr.port}`,
          SUPABASE_SECRET_KEY: "sb_secret_of_this_test",
        },
      });
      assert.equal(code, 1);
      assert.equal(errors, `create_agent_key was refused (HTTP 400): ${sentence}`);
    } finally {
      await server.shutdown();
    }
  });
}

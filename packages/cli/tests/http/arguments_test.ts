/** Invalid arguments: refused before anything is sent, with an error that names the argument. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AgentError, AgentFiles, type Source } from "../../../agent-files/index.ts";
import { agentFiles, collect } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";

const files = new AgentFiles({
  url: "https://files.example",
  key: "ak_test",
  fetch: () => assert.fail("a request was sent"),
});

async function refusalOf(promise: Promise<unknown>): Promise<AgentError> {
  const error = await promise.then(() => null, (error) => error);
  assert.ok(error instanceof AgentError, String(error));
  return error;
}

for (
  const [key, to, path, rule] of [
    ["plan", ["builder", "bad agent!"], "to[1]", /"bad agent!" cannot be an agent/],
    ["plan", ["x".repeat(129)], "to[0]", /1 to 128/],
    ["", [], "key", /1 to 1024 bytes, and has 0/],
    ["é".repeat(513), [], "key", /1 to 1024 bytes, and has 1026/],
    ["../plan", [], "key", /\.\. segment/],
    ["a//b", [], "key", /empty/],
    ["a/", [], "key", /end with \//],
    ["a\nb", [], "key", /control characters/],
    ["a\\b", [], "key", /backslashes/],
    ["\ud800", [], "key", /lone surrogates/],
  ] as const
) {
  Deno.test(`put(${JSON.stringify(key.slice(0, 9))}, to: ${JSON.stringify(to).slice(0, 30)}) → refused before anything is sent, with ${path} and the rule`, async () => {
    const error = await refusalOf(files.put(key, "1", { to }));
    assert.equal(error.code, "invalid_request");
    assert.equal(error.retryable, false);
    assert.ok(error.message.startsWith(`${path}: `), error.message);
    assert.match(error.message, rule);
    const { issues } = error.details as { issues: { path: string }[] };
    assert.deepEqual(issues.map((issue) => issue.path), [path]);
  });
}

Deno.test("put() with a wrong key and a wrong agent → one error, which has both", async () => {
  const error = await refusalOf(files.put("/", "1", { to: [""] }));
  assert.match(error.message, /^key: .*to\[0\]: /);
});

Deno.test("put() of names at their longest, with every character that may be → taken by the service", async () => {
  const { files } = await agentFiles("planner");
  const to = `Az09._:@-${crypto.randomUUID()}`.padEnd(128, "x");
  const key = `${"é".repeat(500)}/a b.${"c".repeat(19)}`;
  const put = await files.put(key, "1", { to: [to] });
  assert.deepEqual([put.key, put.grants[0]!.to_agent], [key, to]);
});

Deno.test("put() of a path without a file, of a folder, of a stream without a size → AgentErrors", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const missing = await refusalOf(files.put("plan", { path: join(folder, "missing") }));
    assert.equal(missing.code, "source_unreadable");
    assert.match(missing.message, /missing/);
    assert.equal((missing.cause as NodeJS.ErrnoException).code, "ENOENT");
    const isFolder = await refusalOf(files.put("plan", { path: folder }));
    assert.equal(isFolder.code, "source_unreadable");
    assert.match(isFolder.message, /is a folder/);
  } finally {
    await rm(folder, { recursive: true });
  }
  const source = { stream: new Blob(["1"]).stream(), size: NaN } as Source;
  const noSize = await refusalOf(files.put("plan", source));
  assert.equal(noSize.code, "invalid_request");
  assert.match(noSize.message, /^size: /);
});

Deno.test("share() of a grant token → invalid_request with the field", async () => {
  const error = await refusalOf(files.share({ grantToken: "g_x" }, "builder"));
  assert.deepEqual([error.code, error.message.split(":")[0]], ["invalid_request", "target"]);
});

Deno.test("a request that the service refuses → the message has the field and the rule", async () => {
  const { files } = await agentFiles("planner");
  const error = await refusalOf(files.put("plan", "1", { ttlDays: 0 }));
  assert.equal(error.status, 422);
  assert.match(error.message, /^ttl_days: \S/);
  assert.deepEqual(await collect(files.list()), []);
});

Deno.test("agent put --to 'bad agent!' → exit code 5, the rule, and no file", async () => {
  await using planner = await Desk.of("planner");
  await Deno.writeTextFile(planner.path("plan.txt"), "1");
  const { code, errors } = await planner.run(["put", "plan.txt", "--to", "bad agent!"]);
  assert.equal(code, 5, errors);
  assert.match(errors, /^agentfiles put: to\[0\]: "bad agent!" cannot be an agent/);
  assert.deepEqual(await planner.json("ls"), []);
});

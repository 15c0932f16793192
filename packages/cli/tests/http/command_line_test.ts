import assert from "node:assert/strict";
import { Desk } from "../desk.ts";

/** A port on which nothing listens. */
function closedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("agent ls at a port that nobody listens on → says that it retries; then exit code 6", async () => {
  await using planner = await Desk.of("planner");
  const url = `http://127.0.0.1:${closedPort()}`;
  const { code, errors } = await planner.run(["ls", "--retry-seconds", "4"], { AGENT_URL: url });
  assert.equal(code, 6, errors);
  const why = `${url} did not answer: connection refused.`;
  assert.equal(errors, `Retrying: ${why}\nagentfiles ls: ${why}\n`);
});

for (const option of [["--retry-seconds", "0"], ["--retry-seconds=0", "--json"]]) {
  Deno.test(`agent ls ${option.join(" ")} at such a port → the error alone`, async () => {
    await using planner = await Desk.of("planner");
    const url = `http://127.0.0.1:${closedPort()}`;
    const { code, errors } = await planner.run(["ls", ...option], { AGENT_URL: url });
    assert.equal(code, 6, errors);
    assert.equal(errors.trimEnd().split("\n").length, 1);
    assert.match(errors, /did not answer: connection refused\./);
  });
}

for (const option of [["--retry-seconds"], ["--retry-seconds", "long"], ["--retry-seconds=-1"]]) {
  Deno.test(`agent ls ${option.join(" ")} → exit code 2`, async () => {
    await using planner = await Desk.of("planner");
    const { code, errors } = await planner.run(["ls", ...option]);
    assert.equal(code, 2);
    assert.match(errors, /--retry-seconds takes a number of seconds/);
  });
}

Deno.test("agent put -- --retry-seconds=1 → a file of that name", async () => {
  await using planner = await Desk.of("planner");
  await Deno.writeTextFile(planner.path("--retry-seconds=1"), "1");
  const { code, errors } = await planner.run(["put", "--", "--retry-seconds=1"]);
  assert.equal(code, 0, errors);
  const [listed] = await planner.json<{ key: string }>("ls");
  assert.equal(listed!.key, "--retry-seconds=1");
});

for (
  const [url, code, says] of [
    [`https://${"a".repeat(64)}.invalid`, 6, /cannot be reached: the name .*does not exist/],
    ["files.example/x", 2, /AGENT_URL is not a URL/],
  ] as const
) {
  Deno.test(`agent ls with AGENT_URL=${url.slice(0, 16)}… → exit code ${code}, and nothing is retried`, async () => {
    await using planner = await Desk.of("planner");
    const { errors, ...ended } = await planner.run(["ls"], { AGENT_URL: url });
    assert.equal(ended.code, code, errors);
    assert.match(errors, says);
    assert.doesNotMatch(errors, /Retrying/);
  });
}

import assert from "node:assert/strict";
import { send } from "../conformance/client.ts";
import { runTask } from "../../packages/local/tests/stack/stack_process.ts";
import { newName } from "./signed_in.ts";

function userToken(...args: string[]) {
  return runTask("agentops user token", { args });
}

Deno.test("user token → the token alone on standard output, for the user and the time that were asked for", async () => {
  const { id } = newName("ada");
  const sub = crypto.randomUUID();
  const begun = Date.now();
  const { code, output, errors } = await userToken(id, "--sub", sub, "--expires-in", "60");
  assert.equal(code, 0, errors);
  assert.match(errors, new RegExp(`user ${sub}, who acts as ${id}\\. It is valid for 60 seconds`));
  const { status, body } = await send("/agent-artifacts/whoami", {
    headers: { authorization: `Bearer ${output}` },
  });
  assert.equal(status, 200);
  assert.deepEqual([body["kind"], body["agent_id"]], ["user", id]);
  const ends = Date.parse(String(body["expires_at"]));
  assert.ok(begun + 55_000 < ends && ends <= Date.now() + 60_000, String(body["expires_at"]));
});

for (
  const [args, exitCode, reason] of [
    [[], 2, /Name one agent\. See: agentops user token --help$/],
    [["ada", "grace"], 2, /Name one agent\./],
    [["ada", "--for", "60"], 2, /unknown option: --for\./],
    [["-x"], 2, /unknown option: -x\./],
    [["a b"], 1, /^The agent_id must be /],
    [["ada", "--sub", "ada"], 1, /^--sub must be a UUID/],
    [["ada", "--expires-in", "0"], 1, /^--expires-in must be /],
    [["ada", "--expires-in", "soon"], 1, /^--expires-in must be /],
  ] as const
) {
  Deno.test(`agentops user token ${args.join(" ")} → refused, and no token`, async () => {
    const { code, output, errors } = await userToken(...args);
    assert.deepEqual([code, output], [exitCode, ""]);
    assert.match(errors, reason);
  });
}

Deno.test("user token where no stack ever ran → says to start it", async () => {
  const { code, output, errors } = await runTask("agentops user token", {
    args: ["ada"],
    environment: { STATE_DIR: "/nonexistent" },
  });
  assert.deepEqual([code, output], [1, ""]);
  assert.match(errors, /start the service first/);
});

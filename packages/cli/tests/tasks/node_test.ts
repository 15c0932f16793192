/** `agentfiles work` as it is released: in Node. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { buildClient } from "../../../../dev/clients/build_client.ts";
import { CLIENT } from "../../../../dev/clients/client_sources.ts";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import { collect } from "../../../agent-files/tests/cast.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { desks, script } from "./cast.ts";

const MAIN = join(CLIENT, "dist/cli/main.js");

Deno.test("agentfiles work in Node → replies, a failure with its reason; SIGTERM → the program ends, and its task is given back", async () => {
  await buildClient();
  await using all = await desks({ a: "1", b: "2", c: "3" });
  const { builder, files } = all;
  await script(
    builder,
    "build",
    `tr 1-9 A-I < "$AGENT_FILE" > out; echo no roof >&2; test "$(cat out)" != B`,
  );
  const command = builder.command([], { OUTSIDE: builder.folder });
  const work = ["--exec", "./build", "--reply", "out", "--concurrency", "2", "--no-wait"];
  const run = await runProgram("node", { ...command, args: [MAIN, "work", ...work] });
  assert.equal(run.code, 0, run.errors);
  assert.deepEqual((await all.tasks()).map(({ state, reason }) => [state, reason]), [
    ["done", null],
    ["waiting", "Exit code 1: no roof"],
    ["done", null],
  ]);
  assert.deepEqual((await collect(files.inbox())).map(({ key }) => key).sort(), [
    "replies/a/out",
    "replies/c/out",
  ]);

  await script(builder, "slow", `echo $$ > "$OUTSIDE/pid"; exec sleep 600`);
  await files.put("d", "4", { to: [builder.agent.id] });
  const slow = ["work", "--exec", "./slow", "--prefix", "d"];
  const child = new Deno.Command("node", {
    ...command,
    args: [MAIN, ...slow],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const pid = await askUntil(
    (text) => text !== "",
    () => Deno.readTextFile(builder.path("pid")).catch(() => ""),
  );
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 130);
  const state = await Deno.readTextFile(`/proc/${pid.trim()}/stat`).catch(() => ") X");
  assert.match(state, /\) [ZX]/, "the program has ended");
  const row = (await all.tasks()).at(-1)!;
  assert.deepEqual([row.key, row.state, row.is_ready], ["d", "waiting", true]);
});

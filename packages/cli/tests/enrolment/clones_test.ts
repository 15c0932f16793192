/** Two machines that enrol as the same agent and restart their programs whenever these end. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { connectBy } from "../../../../tests/conformance/mcp/mcp_client.ts";
import type { Desk } from "../desk.ts";
import { generationOf } from "./cast.ts";
import { login, newDesk, STRANGER, whoami } from "./logins.ts";

Deno.test.afterEach(endMadeEnrolments);

/** Two machines that have logged in as the same agent. The newer one has used its key. */
async function clones(ends: AsyncDisposableStack) {
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  const logIn = async (desk: Desk) => {
    await writeFile(desk.path("enrolment.key"), enrolment_key);
    const { code, errors } = await login(desk, [
      "--enrolment-key-file",
      "enrolment.key",
      "--agent",
      name,
    ]);
    assert.equal(code, 0, errors);
    assert.equal(await whoami(desk), name);
  };
  const [older, newer] = [ends.use(await newDesk()), ends.use(await newDesk())];
  await logIn(older);
  const takeOver = () => logIn(newer);
  return { name, older, newer, takeOver };
}

Deno.test("inbox --follow on the older of two clones → it ends, exit 3, says why, and enrols no more however often it is restarted; the newer one goes on", async () => {
  await using ends = new AsyncDisposableStack();
  const { name, older, newer, takeOver } = await clones(ends);
  const follow = (desk: Desk) => desk.run(["inbox", "--follow"], STRANGER);
  const following = follow(older);
  await takeOver();
  for (const ended of [following, follow(older), follow(older)]) {
    const { code, errors } = await ended;
    assert.equal(code, 3, errors);
    assert.match(errors, /If the agent runs twice, stop one of the two\. \(request [^ ]+\)\n$/);
  }
  assert.equal(await generationOf(name), 2);
  assert.equal(await whoami(newer), name);
});

Deno.test("agentfiles mcp on the older of two clones → each tool answers superseded, also of a server that was restarted, and nobody enrols", async () => {
  await using ends = new AsyncDisposableStack();
  const { name, older, newer, takeOver } = await clones(ends);
  const { args, cwd, env } = older.command(["mcp"], STRANGER);
  const server = { command: Deno.execPath(), args, cwd, env: { ...Deno.env.toObject(), ...env } };
  const connect = () =>
    connectBy("2026-07-28", {
      transport: () => new StdioClientTransport(server),
      oldTransport: () => new OldStdioTransport(server),
    });
  await using running = await connect();
  assert.equal((await running.succeed("whoami"))["agent_id"], name);
  await takeOver();
  await using restarted = await connect();
  for (const host of [running, restarted, running]) {
    for (const tool of ["whoami", "inbox"]) {
      const { isError, body } = await host.call<{ error: { code: string } }>(tool, {});
      assert.deepEqual([isError, body.error.code], [true, "superseded"]);
    }
  }
  assert.equal(await generationOf(name), 2);
  assert.equal(await whoami(newer), name);
});

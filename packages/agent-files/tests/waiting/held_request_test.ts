/** One waiting request serves all clients of an agent. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { AgentMesh } from "../../index.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { agentFiles, filesOf } from "../cast.ts";
import { clients, EMPTY, QUIET } from "./played_service.ts";

function unchanged(latest: string) {
  return { latest, changed: false };
}

Deno.test("inbox() and configurations() of one caller → one /wait for both; the inbox is told, and the other waits on", async () => {
  const { files, mesh, next } = clients("ak_both");
  const configurations = mesh.configurations();
  const first = configurations.next();
  (await next()).answer({ config: "", config_version: 7 });
  await first;
  const told = configurations.next();
  const grants = files.inbox({ wait: true });
  const grant = grants.next();
  const asked = await next();
  assert.equal(asked.path, "/agent-artifacts/inbox");
  asked.answer(EMPTY);

  const held = await next();
  const both = { config_version: 7, inbox_after: "1:1:", wait_seconds: 140 };
  assert.match(held.path, /\/wait$/);
  // One client may have begun its own wait before the other joined.
  const wait = "inbox_after" in held.body ? held : await next();
  assert.deepEqual(wait.body, both);
  wait.answer({ ...QUIET, config_version: 7, inbox: { latest: "1:1:", changed: true } });
  const read = await next();
  assert.deepEqual(read.body, { limit: 1000, after: "1:1:" });
  read.answer({ ...EMPTY, grants: [{ grant_id: "grant_1" }], latest: "2:2:" });
  assert.equal((await grant).value?.grant_id, "grant_1");

  const alone = await next();
  assert.deepEqual(alone.body, { config_version: 7, wait_seconds: 140 });
  const again = grants.next();
  const joined = await next();
  assert.equal(alone.signal.aborted, true, "another takes its place");
  assert.deepEqual(joined.body, { config_version: 7, inbox_after: "2:2:", wait_seconds: 140 });
  joined.answer({ ...QUIET, config_version: 8, inbox: unchanged("3:3:") });
  const fetched = await next();
  assert.equal(fetched.path, "/agent-mesh/wg_config");
  fetched.answer({ config: "", config_version: 8 });
  assert.equal((await told).value?.config_version, 8);
  const last = await next();
  assert.deepEqual(last.body, { inbox_after: "3:3:", wait_seconds: 140 });
  last.answer({ error: { code: "unauthenticated", message: "Ended." } }, 401);
  await assert.rejects(again, { code: "unauthenticated" });
});

Deno.test("inbox() of two callers → a /wait for each; the one that is aborted leaves the other alone", async () => {
  const one = clients("ak_one");
  const other = clients("ak_other");
  const ended = new AbortController();
  const rejected = assert.rejects(
    one.files.inbox({ wait: true, signal: ended.signal }).next(),
    { message: "enough" },
  );
  const waits = other.files.inbox({ wait: true }).next();
  for (const { next } of [one, other]) (await next()).answer(EMPTY);
  const [ends, stays] = [await one.next(), await other.next()];
  ended.abort(new Error("enough"));
  await rejected;
  assert.equal(ends.signal.aborted, true);
  assert.equal(stays.signal.aborted, false);
  stays.answer({ ...QUIET, inbox: { latest: "1:1:", changed: true } });
  (await other.next()).answer({ ...EMPTY, grants: [{ grant_id: "grant_1" }] });
  assert.equal((await waits).value?.grant_id, "grant_1");
});

Deno.test("a deployment without /wait, which takes 50 seconds → /inbox and /peer/heartbeat wait so long, and neither asks for /wait again", async () => {
  const { files, mesh, next } = clients("ak_older");
  const missing = { error: { code: "not_found", message: "No such path." } };
  const tooLong = {
    error: {
      code: "invalid_request",
      message: "Wrong.",
      details: { issues: [{ path: "wait_seconds", message: "Too long." }] },
    },
  };
  const grants = files.inbox({ wait: true });
  const grant = grants.next();
  (await next()).answer(EMPTY);
  const lacking = await next();
  assert.equal(lacking.path, "/agent-artifacts/wait");
  lacking.answer(missing, 404);
  const refused = await next();
  assert.deepEqual(refused.body, { limit: 1000, after: "1:1:", wait_seconds: 140 });
  refused.answer(tooLong, 422);
  for (const _ of [1, 2]) {
    const { path, body, answer } = await next();
    assert.equal(path, "/agent-artifacts/inbox");
    assert.deepEqual(body, { limit: 1000, after: "1:1:", wait_seconds: 50 });
    answer(_ === 1 ? EMPTY : { ...EMPTY, grants: [{ grant_id: "grant_1" }] });
  }
  assert.equal((await grant).value?.grant_id, "grant_1");

  const configurations = mesh.configurations();
  const first = configurations.next();
  (await next()).answer({ config: "", config_version: 7 });
  await first;
  const second = configurations.next();
  (await next()).answer(missing, 404);
  const heartbeat = await next();
  assert.equal(heartbeat.path, "/agent-mesh/peer/heartbeat");
  heartbeat.answer({ config_version: 8, heartbeat_interval_seconds: 30 });
  (await next()).answer({ config: "", config_version: 8 });
  assert.equal((await second).value?.config_version, 8);
});

Deno.test("inbox() and configurations() at the service → a grant and a rule are told, each to its own", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const meshes = [planner, builder].map(({ agent }) =>
    new AgentMesh({ url: SUPABASE_URL, key: agent.key, agentId: agent.id })
  );
  for (const mesh of meshes) {
    // The last byte keeps the number below 2^255−19, whatever the random bytes are.
    const pubkey = Buffer.concat([randomBytes(31), Buffer.from([0x40])]).toString("base64");
    await mesh.register({ pubkey });
  }
  const ended = new AbortController();
  const { signal } = ended;
  const grants = filesOf(builder.agent).inbox({ wait: true, signal });
  const configurations = meshes[1]!.configurations({}, { signal });
  const { value: before } = await configurations.next();
  const [grant, configuration] = [grants.next(), configurations.next()];
  await planner.files.put("plan", "1", { to: [builder.agent.id] });
  assert.equal((await grant).value?.key, "plan");
  const rest = assert.rejects(grants.next(), { name: "AbortError" });
  const rule = {
    from_agent: planner.agent.id,
    to_agent: builder.agent.id,
    port: 443,
    proto: "tcp",
  } as const;
  for (const mesh of meshes) await mesh.allow(rule);
  assert.ok((await configuration).value!.config_version > before!.config_version);
  ended.abort();
  await rest;
});

/**
 * Tests the exercise of docs/backup.md: a backup, changes of each kind, a restore,
 * `agentops restore after`, and what agents see then. Followers run all the time.
 */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { stateFiles } from "../../../packages/local/state/state_files.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { followByCommandLine, followInPython, followInTypeScript } from "./followers.ts";
import { arrangeLostChanges, assertThere, registerPeer } from "./lost_changes.ts";
import { RestorableStack } from "./restorable_stack.ts";

const MESH = "/functions/v1/agent-mesh";
const FILES = "/functions/v1/agent-artifacts";

Deno.test("docs/backup.md → nothing of a restore is silent, and followers live through it", async () => {
  await using exercise = await RestorableStack.open();
  const { url } = exercise.stack;
  const keyFor = async (agent_id: string): Promise<{ key: string; key_id: string }> =>
    await exercise.ask("/rest/v1/rpc/agent_api_create_agent_key", { agent_id });
  const [planner, leaked, builder] = [
    await keyFor("planner"),
    await keyFor("planner"),
    await keyFor("builder"),
  ];
  const files = (key: string) => new AgentFiles({ url, key });
  const put = (name: string, bytes: string) =>
    files(planner.key).put(name, bytes, { to: ["builder"] });
  const ruleAt = (port: number) =>
    exercise.ask(`${MESH}/acl/put`, {
      from_agent: "beta",
      to_agent: "alpha",
      proto: "tcp",
      port,
    });
  const configurationOfAlpha = async (): Promise<{ config_version: number; config: string }> =>
    await exercise.ask(`${MESH}/wg_config`, { agent_id: "alpha" });
  const heartbeatOfAlpha = async (config_version: number): Promise<number> =>
    (await exercise.ask(`${MESH}/peer/heartbeat`, { agent_id: "alpha", config_version }))
      .config_version;
  for (const agent_id of ["alpha", "beta"]) await registerPeer(exercise, agent_id);
  await ruleAt(22);
  const withdrawn = await exercise.ask(`${FILES}/enrolment/put`, {
    kind: "key",
    uses_left: null,
    agent_prefix: "un",
  });
  const enrol = (agent_name: string) =>
    exercise.post(`${FILES}/enroll`, { enrolment_key: withdrawn.enrolment_key, agent_name });
  await put("kept.txt", "kept");
  const lost = await put("lost.txt", "lost");
  const changes = await arrangeLostChanges(exercise, planner.key);
  const backupTime = new Date().toISOString();
  await exercise.backUp();

  // Start followers, and make changes of each kind after the backup.
  const ending = new AbortController();
  const inTypeScript = await followInTypeScript(files(builder.key), ending.signal);
  const inPython = await followInPython(url, builder.key);
  const downloads = await Deno.makeTempDir({ dir: exercise.stateDir });
  const downloading = followByCommandLine(url, builder.key, downloads);
  for (const one of [inPython, downloading]) await one.follower.until("kept.txt");
  await ruleAt(80);
  const before = await configurationOfAlpha();
  await heartbeatOfAlpha(before.config_version);
  for (const { make } of changes) await make();
  await assertThere(changes, true);
  await put("forgotten.txt", "forgotten");
  const followers = [inTypeScript, inPython.follower, downloading.follower];
  await Promise.all(followers.map((one) => one.until("forgotten.txt")));
  const newcomer = await keyFor("newcomer");
  await exercise.ask(`${FILES}/list`, {}, newcomer.key);
  await exercise.ask(`${FILES}/grant`, {
    artifact_id: lost.artifact_id,
    to_agent: "newcomer",
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await exercise.ask("/rest/v1/rpc/agent_api_revoke_agent_key", { key_id: leaked.key_id });
  const { enrolment_id } = withdrawn;
  await exercise.ask(`${FILES}/enrolment/revoke`, { enrolment_id });
  const positions = {
    [`${FILES}/inbox`]: (await exercise.ask(`${FILES}/inbox`, {}, builder.key)).latest,
    [`${FILES}/events`]: (await exercise.ask(`${FILES}/events`, {}, builder.key)).latest,
    [`${MESH}/events`]: (await exercise.ask(`${MESH}/events`, {}, builder.key)).latest,
  };
  await using terminal = await exercise.terminal();
  await terminal.paste(await documentedBlock("docs/backup.md, The record of endings, 1"));

  await exercise.restore();

  // The hazard of a restore: the leaked agent key and the enrolment are live again, and two texts
  // get the same version.
  await assertThere(changes, false);
  assert.equal((await enrol("uninvited")).status, 200);
  assert.equal((await exercise.post(`${FILES}/list`, {}, leaked.key)).status, 200);
  assert.notEqual(await heartbeatOfAlpha(before.config_version), before.config_version);
  const doctor = await documentedBlock("docs/backup.md, After a restore, 2");
  const [checkBytes, diagnose] = doctor.trim().split("\n") as [string, string];
  assert.match(
    await terminal.paste(`${diagnose} || [[ $? == 1 ]]\n`),
    /fault +restore +1 hosts have run a later configuration than this database knows, such as alpha/,
  );
  await ruleAt(443);
  const hazard = await configurationOfAlpha();
  assert.equal(hazard.config_version, before.config_version);
  assert.notEqual(hazard.config, before.config);

  // Storage has lost a file as well.
  const storage = stateFiles(exercise.stateDir).storage;
  await loseBytes(exercise, lost.artifact_id, storage);

  await writeFile(join(terminal.home, "functions.log"), await readLogs(exercise.stateDir));
  await terminal.paste(`BACKUP_TIME=${backupTime}\n`);
  const afterRestore = (await documentedBlock("docs/backup.md, After a restore, 1")).trimEnd();
  const told = await terminal.paste(`${afterRestore} || [[ $? == 1 ]]\n`);
  assert.match(told, /^Epoch [0-9a-f]{12} has begun: /m);
  assert.match(told, /^look at: \S+ \/acl\/put by operator: from_agent beta, to_agent alpha$/m);
  assert.match(told, new RegExp(`^look at: \\S+ /grant by .*artifact_id ${lost.artifact_id}`, "m"));
  assert.match(
    told,
    new RegExp(`^look at: \\S+ /enrolment/revoke by operator: enrolment_id ${enrolment_id}$`, "m"),
  );
  for (const change of changes) {
    assert.match(told, new RegExp(`^look at: \\S+ ${change.told}`, "m"));
    // The record has ended again what had ended. The caller of any other change repeats it, if it
    // still matters.
    if (/^\/(?:commit|standing\/create) /.test(change.told)) await change.make();
  }
  await assertThere(changes, true);
  assert.match(told, new RegExp(`^ended again: .* revoked ${leaked.key_id}$`, "m"));
  assert.match(told, new RegExp(`^ended again: .* revoked enrolment ${enrolment_id}$`, "m"));
  assert.match(told, new RegExp(`^live: ${builder.key_id} of builder, `, "m"));

  assert.equal((await enrol("uninvited-too")).status, 401);
  const after = await configurationOfAlpha();
  assert.ok(after.config_version > Math.max(before.config_version, hazard.config_version));
  assert.equal(await heartbeatOfAlpha(before.config_version), after.config_version);
  for (const [path, position] of Object.entries(positions)) {
    const refused = await exercise.post(path, { after: position }, builder.key);
    assert.deepEqual([refused.status, refused.body.error.code], [422, "position_expired"], path);
  }
  assert.equal((await exercise.post(`${FILES}/list`, {}, leaked.key)).status, 401);
  assert.equal((await exercise.post(`${FILES}/list`, {}, newcomer.key)).status, 401);

  const found = await terminal.paste(`${checkBytes} || [[ $? == 1 ]]\n`);
  assert.match(found, new RegExp(`^lost bytes: ${lost.artifact_id} `, "m"));
  const open = await exercise.post(
    `${FILES}/open`,
    { artifact_id: lost.artifact_id },
    builder.key,
  );
  assert.deepEqual([open.status, open.body.error.code], [410, "artifact_lost"]);
  const digests = await documentedBlock("docs/retention.md, What this cannot see, 1");
  await terminal.paste(`${digests.trimEnd()} || [[ $? == 1 ]]\n`);
  const health = await terminal.paste(`${diagnose} || [[ $? == 1 ]]\n`);
  assert.match(health, /ok +restore +/);

  // Each follower reads everything once more, and then goes on.
  await put("later.txt", "later");
  for (const follower of [inTypeScript, inPython.follower]) await follower.until("kept.txt", 2);
  await downloading.follower.until("kept.txt again");
  await Promise.all(followers.map((one) => one.until("later.txt")));
  ending.abort();
  await Promise.all([inPython.end(), downloading.end()]);
});

async function loseBytes(
  exercise: RestorableStack,
  artifactId: string,
  storage: string,
): Promise<void> {
  const response = await fetch(
    `${exercise.stack.url}/storage/v1/object/info/agent-artifacts/sealed/${artifactId}/1`,
    { headers: { apikey: exercise.stack.secretKey } },
  );
  await rm(join(storage, "objects", (await response.json()).version));
}

async function readLogs(stateDir: string): Promise<string> {
  const { logFile } = stateFiles(stateDir);
  const logs = ["agent-artifacts", "agent-mesh"].map((name) => Deno.readTextFile(logFile(name)));
  return (await Promise.all(logs)).join("");
}

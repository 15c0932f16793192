/**
 * The exercise of docs/backup.md: a backup, changes of each kind, a restore, `after-restore`, and
 * what everybody sees then. Followers live through it.
 */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentFiles } from "../../clients/typescript/src/index.ts";
import { PROJECT } from "../../local/command/project.ts";
import { runProgram } from "../../local/processes/run_program.ts";
import { removePostgresHome } from "../../local/postgres/home.ts";
import { THROW_AWAY } from "../../local/stack/options.ts";
import { type Stack, startStack } from "../../local/stack/stack.ts";
import { stateFiles } from "../../local/state/state_files.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { Terminal } from "../docs/blocks/terminal.ts";

/** A stack that can be taken back in time, at one address. */
class Exercise implements AsyncDisposable {
  private constructor(readonly stateDir: string, public stack: Stack) {}

  static async open(): Promise<Exercise> {
    const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-restore-" });
    // Others may pass through: as root, PostgreSQL runs as another user.
    await Deno.chmod(stateDir, 0o711);
    return new Exercise(stateDir, await startStack({ ...THROW_AWAY, stateDir }));
  }

  get #database(): string {
    return stateFiles(this.stateDir).postgres;
  }

  async #whileStopped(act: () => Promise<unknown>): Promise<void> {
    const port = Number(new URL(this.stack.url).port);
    await this.stack.stop();
    await act();
    this.stack = await startStack({ ...THROW_AWAY, stateDir: this.stateDir, port });
  }

  backUp(): Promise<void> {
    return this.#whileStopped(() => copy(this.#database, `${this.#database}.backup`));
  }

  restore(): Promise<void> {
    return this.#whileStopped(async () => {
      await rm(this.#database, { recursive: true });
      await copy(`${this.#database}.backup`, this.#database);
    });
  }

  /** POSTs for a key, or for the operator. */
  async post(path: string, body: object, key: string | null = null) {
    const response = await fetch(`${this.stack.url}${path}`, {
      method: "POST",
      headers: key === null
        ? { apikey: this.stack.secretKey, "content-type": "application/json" }
        : { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  }

  /** The answer of an operation, which must be 200. */
  async ask(path: string, body: object, key: string | null = null) {
    const answer = await this.post(path, body, key);
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async terminal(): Promise<Terminal> {
    const { url, secretKey } = this.stack;
    return await Terminal.open({
      environment: { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack.stop();
    await removePostgresHome(this.stateDir);
    await rm(this.stateDir, { recursive: true, force: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  const { code, errors } = await runProgram("cp", { args: ["-a", from, to] });
  assert.equal(code, 0, errors);
}

/** What arrives at a follower, and a way to wait for it. */
class Follower {
  readonly #seen: string[] = [];
  #changed = Promise.withResolvers<void>();

  note(key: string): void {
    this.#seen.push(key);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async until(key: string, times = 1): Promise<void> {
    while (this.#seen.filter((seen) => seen === key).length < times) await this.#changed.promise;
  }
}

async function followInTypeScript(files: AgentFiles, signal: AbortSignal): Promise<Follower> {
  const follower = new Follower();
  (async () => {
    for await (const { key } of files.inbox({ wait: true, signal })) follower.note(key);
  })().catch((error) => {
    if (!signal.aborted) follower.note(`ended: ${error}`);
  });
  await follower.until("kept.txt");
  return follower;
}

async function followInPython(
  url: string,
  key: string,
): Promise<{ follower: Follower; end: () => Promise<void> }> {
  const follower = new Follower();
  const script = `
import os
from agent_files import AgentFiles
for grant in AgentFiles(os.environ["URL"], os.environ["KEY"]).inbox(wait=True):
    print(grant["key"], flush=True)
`;
  const process = new Deno.Command(Deno.env.get("PYTHON") ?? "python3", {
    args: ["-c", script],
    env: {
      PYTHONPATH: join(PROJECT, "clients/python"),
      PYTHONDONTWRITEBYTECODE: "1",
      URL: url,
      KEY: key,
    },
    stdout: "piped",
  }).spawn();
  const reading = (async () => {
    let rest = "";
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      lines.forEach((line) => follower.note(line));
    }
  })();
  await follower.until("kept.txt");
  return {
    follower,
    async end() {
      process.kill("SIGTERM");
      await reading;
      await process.status;
    },
  };
}

const MESH = "/functions/v1/agent-mesh";
const FILES = "/functions/v1/agent-artifacts";

Deno.test("docs/backup.md → nothing of a restore is silent, and followers live through it", async () => {
  await using exercise = await Exercise.open();
  const { url } = exercise.stack;
  const keyFor = async (agent_id: string): Promise<{ key: string; key_id: string }> =>
    await exercise.ask("/rest/v1/rpc/create_agent_key", { agent_id });
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
      ...{ from_agent: "beta", to_agent: "alpha", proto: "tcp", port },
    });
  const configurationOfAlpha = async (): Promise<{ config_version: number; config: string }> =>
    await exercise.ask(`${MESH}/wg_config`, { agent_id: "alpha" });
  const heartbeatOfAlpha = async (config_version: number): Promise<number> =>
    (await exercise.ask(`${MESH}/peer/heartbeat`, { agent_id: "alpha", config_version }))
      .config_version;
  for (const agent_id of ["alpha", "beta"]) {
    const pubkey = createHash("sha256").update(randomBytes(32)).digest();
    pubkey[31]! &= 127;
    await exercise.ask(`${MESH}/peer/register`, { agent_id, pubkey: pubkey.toString("base64") });
  }
  await ruleAt(22);
  await put("kept.txt", "kept");
  const lost = await put("lost.txt", "lost");
  const backupTime = new Date().toISOString();
  await exercise.backUp();

  // Followers, and changes of each kind after the backup.
  const ending = new AbortController();
  const inTypeScript = await followInTypeScript(files(builder.key), ending.signal);
  const inPython = await followInPython(url, builder.key);
  await ruleAt(80);
  const before = await configurationOfAlpha();
  await heartbeatOfAlpha(before.config_version);
  await put("forgotten.txt", "forgotten");
  await Promise.all([inTypeScript, inPython.follower].map((one) => one.until("forgotten.txt")));
  const newcomer = await keyFor("newcomer");
  await exercise.ask(`${FILES}/list`, {}, newcomer.key);
  await exercise.ask(`${FILES}/grant`, {
    artifact_id: lost.artifact_id,
    to_agent: "newcomer",
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await exercise.ask("/rest/v1/rpc/revoke_agent_key", { key_id: leaked.key_id });
  const positions = {
    [`${FILES}/inbox`]: (await exercise.ask(`${FILES}/inbox`, {}, builder.key)).latest,
    [`${FILES}/events`]: (await exercise.ask(`${FILES}/events`, {}, builder.key)).latest,
    [`${MESH}/events`]: (await exercise.ask(`${MESH}/events`, {}, builder.key)).latest,
  };
  await using terminal = await exercise.terminal();
  await terminal.paste(await documentedBlock("docs/backup.md, What to back up, 1"));

  await exercise.restore();

  // The hazard: the leaked key lives, and two texts get one version.
  assert.equal((await exercise.post(`${FILES}/list`, {}, leaked.key)).status, 200);
  assert.notEqual(await heartbeatOfAlpha(before.config_version), before.config_version);
  const doctor = await documentedBlock("docs/backup.md, After a restore, 2");
  const [checkBytes, diagnose] = doctor.trim().split("\n") as [string, string];
  assert.match(
    await terminal.paste(`${diagnose} || [[ $? == 1 ]]\n`),
    /fault +restore +1 hosts run a later configuration than this database knows, such as alpha/,
  );
  await ruleAt(443);
  const hazard = await configurationOfAlpha();
  assert.equal(hazard.config_version, before.config_version);
  assert.notEqual(hazard.config, before.config);

  // Storage has lost a file, too.
  const storage = stateFiles(exercise.stateDir).storage;
  await loseBytes(exercise, lost.artifact_id, storage);

  await writeFile(join(terminal.home, "functions.log"), await readLogs(exercise.stateDir));
  await terminal.paste(`BACKUP_TIME=${backupTime}\n`);
  const afterRestore = (await documentedBlock("docs/backup.md, After a restore, 1")).trimEnd();
  const told = await terminal.paste(`${afterRestore} || [[ $? == 1 ]]\n`);
  assert.match(told, /^Epoch [0-9a-f]{12} has begun: /m);
  assert.match(told, /^look at: \S+ \/acl\/put by operator: from_agent beta, to_agent alpha$/m);
  assert.match(told, new RegExp(`^look at: \\S+ /grant by .*artifact_id ${lost.artifact_id}`, "m"));
  assert.match(told, new RegExp(`^revoked again: ${leaked.key_id} of planner, `, "m"));
  assert.match(told, new RegExp(`^live, unless .*: ${builder.key_id} of builder, `, "m"));

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

  // Each follower reads what is there once more, and goes on.
  await put("later.txt", "later");
  for (const follower of [inTypeScript, inPython.follower]) {
    await follower.until("kept.txt", 2);
    await follower.until("later.txt");
  }
  ending.abort();
  await inPython.end();
});

async function loseBytes(
  exercise: Exercise,
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

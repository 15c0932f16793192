/** The operator's tasks for enrolments. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { grant, inbox, publish } from "../../../../tests/conformance/artifacts.ts";
import { createAgent, endCreatedAgents } from "../../../../tests/conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  revokeAll,
  tryEnrol,
  whoami,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../../tests/conformance/enrolment/issuer.ts";
import { create, listed, task } from "./enrolment_tasks.ts";

const AUDIENCE = "https://agents.example.com";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Creates an issuer, and a file of a trust in it. */
async function trustFile(folder: string, fields: Record<string, unknown> = {}) {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const file = join(folder, "trust.json");
  await writeFile(
    file,
    JSON.stringify({
      label: "jobs on main",
      issuer: issuer.url,
      audience: AUDIENCE,
      jwks: issuer.jwks,
      conditions: [{ claim: "ref", equals: "main" }],
      agent_template: "{sub}",
      ...fields,
    }),
  );
  return { issuer, file };
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("enrolment create → the enrolment key alone on standard output, good for one agent and an hour", async () => {
  const { code, output, errors } = await task("create");
  assert.equal(code, 0, errors);
  assert.match(output, /^ek_[0-9a-f]{64}$/);
  const [, enrolment_id] = /agentops enrolment revoke (enr_[0-9a-f]{32})/.exec(errors)!;
  const agent_name = newName("vm");
  assert.equal((await enrol({ enrolment_key: output, agent_name })).agent_id, agent_name);
  assert.ok(!(await listed()).some((one) => one.enrolment_id === enrolment_id), "used up");
  const [made] = (await listed("--ended")).filter((one) => one.enrolment_id === enrolment_id);
  assert.equal((made as unknown as { uses_left: number }).uses_left, 0);
  await revokeAll(enrolment_id!);
});

Deno.test("enrolment create with every option → the enrolment has them all", async () => {
  const expires = new Date(Date.now() + 86_400_000).toISOString();
  const made = await create(
    "--label",
    "builders in eu",
    "--agent-id",
    newName("vm"),
    "--uses",
    "any",
    "--tag",
    "tag:eu",
    "--tag",
    "tag:builder",
    "--expires-at",
    expires,
    "--session-seconds",
    "600",
    "--ephemeral-seconds",
    "300",
    "--max-agents",
    "20",
    "--max-instances",
    "3",
    "--quota",
    "5M",
  );
  assert.deepEqual(
    [made.label, made.tags, made.uses_left, made.expires_at, made.session_seconds],
    ["builders in eu", ["tag:eu", "tag:builder"], null, expires, 600],
  );
  assert.equal(made.ephemeral_seconds, 300);
  assert.deepEqual([made.max_agents, made.max_instances], [20, 3]);
  assert.equal(made.quota_bytes, 5 * 1024 ** 2);
  const endless = await create("--uses", "20", "--prefix", "new-", "--expires-at", "never");
  assert.deepEqual([endless.uses_left, endless.expires_at], [20, null]);
  const { output } = await task("list");
  assert.match(
    output,
    new RegExp(`^${made.enrolment_id}\t.*\t0 of 20\t0 B of 5\\.0 MiB\t3\t`, "m"),
  );
  for (const { enrolment_id, enrolment_key } of [made, endless]) {
    assert.match(output, new RegExp(`${enrolment_id}\tenrolment key\t`));
    assert.ok(!output.includes(enrolment_key), "the key is shown once");
    await revokeAll(enrolment_id);
  }
});

Deno.test("enrolment create with an invalid number, time or tag, a file with options, or a file that is not a trust → refused by name, and nothing is created", async () => {
  await inFolder(async (folder) => {
    const { file } = await trustFile(folder, { audience: null });
    const shared = await trustFile(folder).then(async ({ file }) => {
      const github = join(folder, "github.json");
      const text = await Deno.readTextFile(file);
      await writeFile(
        github,
        text.replace(/https:\/\/new-issuer[^"]*/, "https://token.actions.githubusercontent.com"),
      );
      return github;
    });
    await trustFile(folder, { audience: null });
    await writeFile(join(folder, "text"), "nothing");
    await writeFile(join(folder, "list.json"), "[]");
    const before = (await listed("--ended")).length;
    for (
      const [args, exit, said] of [
        [["--uses", "few"], 2, /--uses takes a whole number/],
        [["--uses", "any"], 1, /agent_prefix: Required/],
        [["--template", "always"], 1, /agent_template: Must/],
        [["--prefix", "a-", "--agent-id", "a"], 1, /agent_id: Give one of/],
        [["--session-seconds", "0"], 2, /--session-seconds takes/],
        [["--session-seconds", "59"], 1, /session_seconds: Must be a whole number from 60/],
        [["--expires-at", "tomorrow"], 1, /--expires-at must be an ISO 8601 timestamp/],
        [["--tag", "eu"], 1, /tags\.0: /],
        [[file, "--label", "both"], 2, /the file says everything/],
        [[file], 1, /audience: Required/],
        [[shared], 1, /repository_owner_id/],
        [[join(folder, "text")], 1, /is not JSON/],
        [[join(folder, "list.json")], 1, /is not a JSON object/],
        [[join(folder, "missing")], 1, /missing cannot be read/],
      ] as const
    ) {
      const { code, output, errors } = await task("create", ...args);
      assert.deepEqual([code, output], [exit, ""], `${args}: ${errors}`);
      assert.match(errors, said);
    }
    assert.equal((await listed("--ended")).length, before);
  });
});

Deno.test("a trust from a file: enrolment test of a token and of claims → who takes it and why not, and nobody enrols", async () => {
  await inFolder(async (folder) => {
    const { issuer, file } = await trustFile(folder);
    const { code, output: enrolment_id, errors } = await task("create", file);
    assert.equal(code, 0, errors);
    const sub = newName("run");
    const [token, claims] = [join(folder, "token"), join(folder, "claims.json")];
    await writeFile(token, await issuer.sign({ aud: AUDIENCE, sub, ref: "main" }));
    await writeFile(claims, JSON.stringify({ aud: AUDIENCE, sub, ref: "other" }));
    assert.equal((await task("try", token)).output, `${enrolment_id}  accepts it`);
    const tried = await task("try", "--issuer", issuer.url, "--claims", claims);
    assert.match(tried.output, new RegExp(`^${enrolment_id}  refuses it: .*\\(ref\\)$`));
    const stranger = ["--issuer", "https://nobody.example.com", "--claims", claims];
    assert.equal((await task("try", ...stranger)).output, "No enrolment trusts this issuer.");
    for (const args of [[], ["--issuer", "x"], [token, "--claims", claims, "--issuer", "x"]]) {
      assert.equal((await task("try", ...args)).code, 2);
    }
    const { body } = await tryEnrol({ token: await Deno.readTextFile(token) });
    assert.deepEqual([body.agent_id, body.generation], [sub, 1]);
    await revokeAll(enrolment_id);
  });
});

Deno.test("enrolment revoke → without --yes nothing ends; with it every agent's key, and with --undo-grants their grants; of an unknown enrolment → refused", async () => {
  const { enrolment_id, enrolment_key } = await create("--uses", "any", "--prefix", "new-");
  const agents = await Promise.all(
    Array.from({ length: 3 }, () => enrol({ enrolment_key, agent_name: newName("vm") })),
  );
  const reader = await createAgent("reader");
  const giver = agentOf(agents[0]!);
  await grant(giver, await publish(giver), { to: reader });

  const counts = `${enrolment_id}, with 3 agents, 3 keys`;
  const dry = await task("revoke", enrolment_id, "--dry-run");
  assert.deepEqual([dry.code, dry.output], [0, `Would end: ${counts}. Nothing was changed.`]);
  const asked = await task("revoke", enrolment_id, "--undo-grants");
  assert.equal(asked.code, 2);
  assert.ok(
    asked.errors.includes(`This ends ${counts}, 1 grants. Nothing was changed: pass --yes`),
    asked.errors,
  );
  assert.equal((await whoami(agents[0]!)).status, 200);

  const { code, output, errors } = await task("revoke", enrolment_id, "--undo-grants", "--yes");
  assert.equal(code, 0, errors);
  assert.equal(output, `Ended ${enrolment_id}: 3 agents, 3 keys, 1 grants.`);
  for (const agent of agents) assert.equal((await whoami(agent)).status, 401);
  assert.deepEqual(await inbox(reader), []);
  assert.equal((await tryEnrol({ enrolment_key, agent_name: newName("vm") })).status, 401);

  const again = await task("revoke", enrolment_id, "--yes");
  assert.equal(again.output, `Ended ${enrolment_id}: nothing.`);
  const nobody = await task("revoke", `enr_${"0".repeat(32)}`, "--yes");
  assert.equal(nobody.code, 1);
  assert.match(nobody.errors, /there is no enrolment of this enrolment_id/);
});

Deno.test("enrolment keys → tokens of the new keys enrol the same agents, those of the old ones do not; without --yes, nothing is taken away; with invalid public keys → exit 1, and nothing changed", () =>
  inFolder(async (folder) => {
    const { issuer, file } = await trustFile(folder);
    const { enrolment_id } = await create(file);
    const other = await Issuer.create(issuer.url);
    const sub = newName("run");
    const tokenOf = (one: Issuer) => one.sign({ aud: AUDIENCE, ref: "main", sub });
    const first = await enrol({ token: await tokenOf(issuer) });
    const keys = join(folder, "jwks.json");
    for (const wrong of ["[]", "{}", '{"keys": [{"kty": "oct", "k": "AAAA"}]}']) {
      await writeFile(keys, wrong);
      assert.equal((await task("keys", enrolment_id, keys, "--yes")).code, 1, wrong);
    }
    assert.equal((await tryEnrol({ token: await tokenOf(other) })).status, 401);

    await writeFile(keys, JSON.stringify(other.jwks));
    const what = `3 of 3 public keys of ${enrolment_id}`;
    const dry = await task("keys", enrolment_id, keys, "--dry-run");
    assert.deepEqual([dry.code, dry.output], [0, `Would end: ${what}. Nothing was changed.`]);
    const asked = await task("keys", enrolment_id, keys);
    assert.deepEqual([asked.code, asked.output], [2, ""]);
    assert.match(asked.errors, new RegExp(`This ends ${what}\\. Nothing was changed: pass --yes`));
    assert.equal((await tryEnrol({ token: await tokenOf(other) })).status, 401);
    // One more ends nothing.
    const further = { ...other.jwks.keys[0], kid: "further" };
    await writeFile(keys, JSON.stringify({ keys: [...issuer.jwks.keys, further] }));
    assert.equal((await task("keys", enrolment_id, keys)).code, 0);

    await writeFile(keys, JSON.stringify(other.jwks));
    const { code, output, errors } = await task("keys", enrolment_id, keys, "--yes");
    assert.deepEqual([code, output], [0, enrolment_id], errors);
    assert.equal((await whoami(first)).status, 200);
    assert.equal((await tryEnrol({ token: await tokenOf(issuer) })).status, 401);
    const second = await enrol({ token: await tokenOf(other) });
    assert.deepEqual([second.agent_id, second.generation], [sub, 2]);
  }));

/** docs/fleets.md: each file of conditions accepts its platform's tokens, and no others. */
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { operatorRpc, SUPABASE_URL } from "../conformance/client.ts";
import {
  endMadeEnrolments,
  type EnrolmentWithKey,
  eventsOf,
  newName,
  put,
  revokeAll,
  tryEnrol,
  use,
  whoami,
} from "../conformance/enrolment/enrolments.ts";
import { Issuer, type TokenClaims } from "../conformance/enrolment/issuer.ts";
import { documentedBlock, readPage } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";
import { tenantClaimsOf } from "../../supabase/functions/_shared/identity/issuers/shared_issuers.ts";

Deno.test.afterEach(endMadeEnrolments);

interface Platform {
  /** Claims from the platform's documentation. */
  readonly claims: TokenClaims;
  readonly agent: string;
  /** Claims of tokens that unwanted parties could get signed. */
  readonly others: readonly TokenClaims[];
}

const POD = {
  namespace: "builders",
  pod: { name: "builder-0", uid: "5e0bd49b-f040-43b0-99b7-22765a53f7f3" },
  serviceaccount: { name: "builder", uid: "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798" },
};

const GITHUB: Platform = {
  claims: {
    sub: "repo:octo-org/octo-repo:ref:refs/heads/main",
    repository: "octo-org/octo-repo",
    repository_id: "123456789",
    repository_owner: "octo-org",
    repository_owner_id: "65",
    ref: "refs/heads/main",
    ref_type: "branch",
    run_id: "9876543210",
    run_attempt: "1",
  },
  agent: "ci-123456789-9876543210",
  others: [
    { repository_id: "74" },
    { ref: "refs/pull/7/merge" },
    { ref: "refs/heads/main-2" },
    { repository_id: undefined },
  ],
};

const GITLAB: Platform = {
  claims: {
    sub: "project_path:group/project:ref_type:branch:ref:main",
    project_id: "12345678",
    project_path: "group/project",
    namespace_id: "72",
    ref: "main",
    ref_type: "branch",
    ref_protected: "true",
    job_id: "302",
    pipeline_id: "9",
  },
  agent: "gitlab-12345678-302",
  others: [{ project_id: "1234567" }, { ref_protected: "false" }, { ref_protected: undefined }],
};

const KUBERNETES: Platform = {
  claims: { sub: "system:serviceaccount:builders:builder", "kubernetes.io": POD },
  agent: "k8s-builder-0",
  others: [
    { "kubernetes.io": { ...POD, namespace: "default" } },
    { "kubernetes.io": { ...POD, serviceaccount: { name: "default" } } },
    { "kubernetes.io": undefined },
  ],
};

/** Creates the trust of a block, with the keys of a test issuer. */
async function trusted(block: string): Promise<{ issuer: Issuer; made: EnrolmentWithKey }> {
  const fields = JSON.parse(filledIn(block));
  const issuer = await Issuer.create(fields.issuer);
  return { issuer, made: await put({ kind: "trust", ...fields, jwks: issuer.jwks }) };
}

async function assertFits(block: string, { claims, agent, others }: Platform): Promise<void> {
  const { issuer, made } = await trusted(block);
  const proof = async (more: TokenClaims) => ({
    token: await issuer.sign({ ...claims, aud: SUPABASE_URL, ...more }),
    enrolment_id: made.enrolment_id,
  });
  const { status, body } = await tryEnrol(await proof({}));
  assert.deepEqual([status, body.agent_id], [200, agent]);
  for (const other of [...others, { aud: "https://elsewhere.example.com" }]) {
    assert.equal((await tryEnrol(await proof(other))).status, 401, JSON.stringify(other));
  }
}

Deno.test("docs/fleets.md, GitHub Actions → a job on main is an agent; another repository's or a pull request's is refused", async () => {
  await assertFits(await documentedBlock("docs/fleets.md, GitHub Actions, 1"), GITHUB);
});

Deno.test("docs/fleets.md, GitLab → a job of a protected branch is an agent; any other is refused", async () => {
  await assertFits(await documentedBlock("docs/fleets.md, GitLab, 1"), GITLAB);
});

Deno.test("docs/fleets.md, Kubernetes → a pod of the service account is an agent; any other is refused", async () => {
  await assertFits(await documentedBlock("docs/fleets.md, Kubernetes, 1"), KUBERNETES);
});

/** Pastes the operator's block, then the machine's. Returns the output of the second. */
async function enrolAMachine(create: string, login: string): Promise<string> {
  await using terminal = await Terminal.open();
  await terminal.paste(create);
  await chmod(join(terminal.home, "enrolment.key"), 0o600);
  const settings = `export XDG_CONFIG_HOME='${join(terminal.home, ".config")}'`;
  return await terminal.paste(`${settings}\n${filledIn(login)}`);
}

/** Revokes the enrolment through which an agent enrolled. */
async function endEnrolmentOf(agent_id: string): Promise<void> {
  const { enrolment_id } = (await eventsOf("agent.enrolled", { agent_id })).at(-1)!;
  await revokeAll(String(enrolment_id));
}

Deno.test("docs/fleets.md, A laptop → the laptop is the agent", async () => {
  const name = newName("laptop");
  const create = await documentedBlock("docs/fleets.md, A laptop, 1");
  const login = await documentedBlock("docs/fleets.md, A laptop, 2");
  const printed = await enrolAMachine(create.replaceAll("laptop-anna", name), login);
  assert.match(printed, new RegExp(`^Logged in at ${SUPABASE_URL} as ${name}\\.\n${name}\\b`));
  await endEnrolmentOf(name);
});

Deno.test("docs/fleets.md, A virtual machine → the machine is the agent of its name, and has the tag", async () => {
  const id = newName("machine");
  const create = await documentedBlock("docs/fleets.md, A virtual machine, 1");
  const login = await documentedBlock("docs/fleets.md, A virtual machine, 2");
  const printed = await enrolAMachine(create, login.replace("$(cat /etc/machine-id)", id));
  const name = `builder-${id}`;
  assert.match(printed, new RegExp(`^Logged in at ${SUPABASE_URL} as ${name}\\.\n${name}\\b`));
  const { body } = await operatorRpc<{ tags: string[] }>("read_agent", { agent_id: name });
  assert.deepEqual(body.tags, ["tag:builder"]);
  await endEnrolmentOf(name);
});

Deno.test("docs/fleets.md, Changing an enrolment → tokens of the new keys are the same agent", async () => {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const next = await Issuer.create(issuer.url);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: SUPABASE_URL,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "ref", equals: "main" }],
    agent_template: "{sub}",
  });
  const sub = newName("pod");
  const claims = { aud: SUPABASE_URL, sub, ref: "main" };
  assert.equal((await tryEnrol({ token: await issuer.sign(claims) })).status, 200);
  await using terminal = await Terminal.open({ environment: { ENROLMENT_ID: enrolment_id } });
  await writeFile(join(terminal.home, "jwks.json"), JSON.stringify(next.jwks));
  const printed = await terminal.paste(
    await documentedBlock("docs/fleets.md, Changing an enrolment, 1"),
  );
  assert.match(printed, new RegExp(`^${enrolment_id}\n`));
  const { status, body } = await tryEnrol({ token: await next.sign(claims) });
  assert.deepEqual([status, body.agent_id, body.generation], [200, sub, 2]);
});

Deno.test("docs/fleets.md, How many agents → the enrolment has both limits, and its agent goes on", async () => {
  const { enrolment_id, enrolment_key } = await put({ uses_left: null });
  const enrolled = (await tryEnrol({ enrolment_key, agent_name: newName("vm") })).body;
  await using terminal = await Terminal.open({ environment: { ENROLMENT_ID: enrolment_id } });
  const printed = await terminal.paste(
    await documentedBlock("docs/fleets.md, How many agents, 1"),
  );
  assert.match(
    printed,
    new RegExp(
      `^${enrolment_id} may have 5000 agents, which may hold 500\\.0 GiB together\\.$`,
      "m",
    ),
  );
  assert.equal((await whoami(enrolled)).status, 200);
});

Deno.test("docs/fleets.md, OAuth tools → an access token that is an agent key", async () => {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  await put({
    kind: "trust",
    issuer: issuer.url,
    audience: SUPABASE_URL,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "ref", equals: "main" }],
    agent_template: "{sub}",
  });
  const sub = newName("run");
  await using terminal = await Terminal.open();
  const token = await issuer.sign({ aud: SUPABASE_URL, sub, ref: "main" });
  await writeFile(join(terminal.home, "token"), `${token}\n`);
  const block = filledIn(await documentedBlock("docs/fleets.md, OAuth tools, 1"));
  const { access_token, ...rest } = JSON.parse(await terminal.paste(block));
  assert.deepEqual(rest, { token_type: "Bearer", expires_in: rest.expires_in });
  assert.equal((await whoami({ id: sub, key: access_token, keyId: "" })).body["agent_id"], sub);
});

Deno.test("docs/fleets.md, Why a token is refused → the reason, in the events and by enrolment test", async () => {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const made = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: SUPABASE_URL,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "ref", equals: "main" }],
    agent_template: "{sub}",
  });
  const token = await issuer.sign({ aud: SUPABASE_URL, sub: "run", ref: "other" });
  assert.equal((await tryEnrol({ token })).status, 401);
  await using terminal = await Terminal.open();
  await writeFile(join(terminal.home, "token"), token);
  const printed = await terminal.paste(
    await documentedBlock("docs/fleets.md, Why a token is refused, 1"),
  );
  assert.match(printed, /enrolment\.refused.*claim_differs/);
  assert.ok(printed.trimEnd().endsWith(`${made.enrolment_id}  refuses it: claim_differs (ref)`));
});

Deno.test("docs/fleets.md, Restarts, clones and ends → the enrolment is listed, and everything that came of it ends", async () => {
  const made = await put({ uses_left: null });
  const enrolled = (await tryEnrol({
    enrolment_key: made.enrolment_key,
    agent_name: newName("vm"),
  })).body;
  await use(enrolled);
  await using terminal = await Terminal.open({
    environment: { ENROLMENT_ID: made.enrolment_id },
  });
  const block = await documentedBlock("docs/fleets.md, Restarts, clones and ends, 1");
  const printed = await terminal.paste(block);
  assert.match(printed, new RegExp(`^${made.enrolment_id}\tenrolment key\t`, "m"));
  assert.match(printed, /^Would end: enr_\S+, with 1 agents, 1 keys\./m);
  assert.ok(printed.trimEnd().endsWith(`Ended ${made.enrolment_id}: 1 agents, 1 keys.`), printed);
  assert.equal((await whoami(enrolled)).status, 401);
});

Deno.test("docs/fleets.md, Whose a name is → whose it is, and who can become the agent", async () => {
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(await documentedBlock("docs/fleets.md, Whose a name is, 1"));
  assert.match(printed, /^agent +finance$/m);
  assert.match(printed, /^belongs to +nobody yet$/m);
});

Deno.test("docs/fleets.md, Which conditions are enough → every issuer that many share, with the claims that the service asks for", async () => {
  const rows = (await readPage("docs/fleets.md")).matchAll(
    /^\| `([a-z.]+\.[a-z]+)` +\| (.+?) +\|$/gm,
  );
  const documented = Array.from(rows, ([, issuer, claims]) =>
    [
      `https://${issuer}`,
      claims!.split(", ").map((claim) => claim.replaceAll("`", "")),
    ] as const);
  assert.equal(documented.length, 8);
  for (const [issuer, claims] of documented) assert.deepEqual(tenantClaimsOf(issuer), claims);
});

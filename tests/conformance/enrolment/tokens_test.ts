import assert from "node:assert/strict";
import { exportJWK } from "jose";
import { assertError, assertInvalid, type JsonObject, succeed } from "../client.ts";
import {
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  revokeAll,
  tryEnrol,
  tryPut,
  use,
  whoami,
} from "./enrolments.ts";
import { type Algorithm, Issuer } from "./issuer.ts";

Deno.test.afterEach(endMadeEnrolments);

const AUDIENCE = "https://agents.example.com";

/** A trust with the issuer's keys in it, so that the deployment need not reach the issuer. */
function putTrust(issuer: Issuer, fields: JsonObject = {}) {
  return put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "owner_id", equals: "9919" }],
    agent_template: "ci-{run_id}",
    ...fields,
  });
}

function newIssuer(name = "issuer"): Promise<Issuer> {
  return Issuer.create(`https://${newName(name)}.example.com`);
}

Deno.test("/enroll with a token of a trusted issuer → the agent that its claims name, by each algorithm", async () => {
  const issuer = await newIssuer();
  const { enrolment_id } = await putTrust(issuer, { tags: ["tag:ci"] });
  for (const alg of ["RS256", "ES256", "EdDSA"] satisfies Algorithm[]) {
    const run_id = newName(alg);
    const token = await issuer.sign({ aud: AUDIENCE, owner_id: "9919", run_id }, { alg });
    const enrolled = await enrol({ token });
    assert.deepEqual([enrolled.agent_id, enrolled.tags], [`ci-${run_id}`, ["tag:ci"]]);
    await use(enrolled);
    const tested = await succeed<JsonObject>("/agent-artifacts/enrolment/test", {
      as: "operator",
      body: { token },
    });
    assert.deepEqual(tested, { matches: [enrolment_id], refused: [] });
  }
});

/** Each run has its own names: an earlier run's agents keep their generations. */
const RUN = String(crypto.getRandomValues(new Uint32Array(1))[0]);

/** Tokens of real platforms, with fitting conditions for each. */
const PLATFORMS = {
  GitHub: {
    claims: {
      sub: "repo:octo-org/octo-repo:ref:refs/heads/main",
      repository: "octo-org/octo-repo",
      repository_id: "74",
      repository_owner: "octo-org",
      repository_owner_id: "65",
      ref: "refs/heads/main",
      ref_type: "branch",
      run_id: RUN,
      run_attempt: "1",
    },
    conditions: [
      { claim: "repository_owner_id", equals: "65" },
      { claim: "ref", equals: "refs/heads/main" },
    ],
    agent_template: "ci-{repository_id}-{run_id}",
    name: `ci-74-${RUN}`,
  },
  Kubernetes: {
    claims: {
      sub: "system:serviceaccount:agents:builder",
      "kubernetes.io": {
        namespace: "agents",
        pod: { name: `builder-${RUN}`, uid: "5e0bd49b-f040-43b0-99b7-22765a53f7f3" },
        serviceaccount: { name: "builder", uid: "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798" },
      },
    },
    conditions: [
      { claim: "/kubernetes.io/namespace", equals: "agents" },
      { claim: "/kubernetes.io/serviceaccount/name", equals: "builder" },
    ],
    agent_template: "{/kubernetes.io/pod/name}",
    name: `builder-${RUN}`,
  },
  SPIFFE: {
    claims: { sub: `spiffe://example.org/ns/agents/sa/builder${RUN}` },
    conditions: [{ claim: "sub", prefix: "spiffe://example.org/ns/agents/" }],
    agent_template: "{sub}",
    // A name cannot hold a path, so it is reduced and gets a digest.
    name: /^spiffe:--example\.org-ns-agents-sa-builder\d+\.[0-9a-f]{20}$/,
  },
};

for (const [platform, { claims, name, ...trust }] of Object.entries(PLATFORMS)) {
  Deno.test(`/enroll with a token as ${platform} writes it → its agent; again → the same one`, async () => {
    const issuer = await newIssuer();
    const { enrolment_id } = await putTrust(issuer, trust as never);
    const first = await enrol({ token: await issuer.sign({ ...claims, aud: AUDIENCE }) });
    if (typeof name === "string") assert.equal(first.agent_id, name);
    else assert.match(first.agent_id, name);
    await use(first);
    const second = await enrol({ token: await issuer.sign({ ...claims, aud: [AUDIENCE] }) });
    assert.deepEqual([second.agent_id, second.generation], [first.agent_id, 2]);
    await use(second);
    assertError(await whoami(first), 401, "superseded");
    await revokeAll(enrolment_id);
    assert.equal((await whoami(second)).status, 401);
  });
}

Deno.test("the conditions of another trust → no use; two trusts that match → refused unless one is named", async () => {
  const issuer = await newIssuer();
  const main = await putTrust(issuer, { conditions: [{ claim: "ref", equals: "main" }] });
  const tags = await putTrust(issuer, {
    conditions: [{ claim: "ref", prefix: "m" }],
    agent_template: "tag-{run_id}",
  });
  const claims = { aud: AUDIENCE, ref: "main", run_id: newName("run") };
  assertError(await tryEnrol({ token: await issuer.sign(claims) }), 401, "enrolment_refused");
  const { enrolment_id } = tags;
  const enrolled = await enrol({ token: await issuer.sign(claims), enrolment_id });
  assert.equal(enrolled.agent_id, `tag-${claims.run_id}`);
  const other = await issuer.sign({ ...claims, ref: "more" });
  const { enrolment_id: other_id } = main;
  assertError(await tryEnrol({ token: other, enrolment_id: other_id }), 401, "enrolment_refused");
  assert.equal((await enrol({ token: other })).agent_id, `tag-${claims.run_id}`);
});

Deno.test("a single-use token → again before its key was used, then token_replayed", async () => {
  const issuer = await newIssuer();
  const { enrolment_id } = await putTrust(issuer, { single_use_tokens: true });
  const claims = { aud: AUDIENCE, owner_id: "9919", run_id: newName("run") };
  // The last two cannot be stored in the database as they are.
  for (const jti of [crypto.randomUUID(), undefined, "a\0", "\ud83d"]) {
    const token = await issuer.sign({ ...claims, jti });
    await enrol({ token });
    const second = await enrol({ token });
    await use(second);
    assertError(await tryEnrol({ token }), 401, "token_replayed");
    const other = await enrol({
      token: await issuer.sign({ ...claims, jti: crypto.randomUUID() }),
    });
    await use(other);
    assertError(await tryEnrol({ token }), 401, "token_replayed");
    assert.equal((await whoami(other)).status, 200);
  }
  const reasons = (await eventsOf("enrolment.refused"))
    .filter((event) => event["enrolment_id"] === enrolment_id).map(({ reason }) => reason);
  assert.deepEqual(reasons, Array(8).fill("token_replayed"));
});

Deno.test("two subjects that would have one name → two agents", async () => {
  const issuer = await newIssuer();
  await putTrust(issuer, { agent_template: "a-{one}-{other}" });
  const enrolAs = async (one: string, other: string) =>
    (await enrol({ token: await issuer.sign({ aud: AUDIENCE, owner_id: "9919", one, other }) }))
      .agent_id;
  const run = newName("x");
  const ids = [
    await enrolAs(`${run}-b`, "c"),
    await enrolAs(run, "b-c"),
    await enrolAs(`${run}/b`, "c"),
    await enrolAs(`${run}-b`, "c "),
  ];
  assert.equal(new Set(ids).size, ids.length, ids.join());
});

Deno.test("/enrolment/test with claims → which enrolments they meet", async () => {
  const issuer = await newIssuer();
  const { enrolment_id } = await putTrust(issuer);
  const test = (claims: JsonObject) =>
    succeed<JsonObject>("/agent-artifacts/enrolment/test", {
      as: "operator",
      body: { issuer: issuer.url, claims },
    });
  assert.deepEqual(await test({ owner_id: "9919" }), { matches: [enrolment_id], refused: [] });
  assert.deepEqual(await test({ owner_id: "1" }), {
    matches: [],
    refused: [{ enrolment_id, reason: "claim_differs", claim: "owner_id" }],
  });
});

Deno.test("/enrolment/put of a trust that others could use → 422 that says which", async () => {
  const issuer = await newIssuer();
  const trust = {
    kind: "trust",
    issuer: "https://issuer.example.com",
    audience: AUDIENCE,
    conditions: [{ claim: "sub", equals: "a" }],
    agent_id: "a",
  };
  const { jwk, privateKey } = issuer.keys.ES256;
  const secret = await exportJWK(privateKey) as JsonObject;
  for (
    const [field, changes] of [
      ["issuer", { issuer: "http://issuer.example.com" }],
      ["issuer", { issuer: "https://issuer.example.com/?a" }],
      ["issuer", { issuer: "https://user@issuer.example.com" }],
      ["issuer", { issuer: "https://ISSUER.example.com" }],
      ["issuer", { issuer: "https://169.254.169.254" }],
      ["issuer", { issuer: "https://[::1]" }],
      ["issuer", { issuer: "https://0x7f.1" }],
      ["issuer", { issuer: "https://localhost" }],
      ["issuer", { issuer: "https://metadata.google.internal" }],
      ["issuer", { issuer: "https://kubernetes" }],
      ["issuer", { issuer: "https://issuer.example.com/\0" }],
      ["label", { label: "\ud83d" }],
      ["audience", { audience: "a\0" }],
      ["conditions.0.equals", { conditions: [{ claim: "sub", equals: "a\0" }] }],
      ["jwks", { jwks: { keys: [secret] } }],
      ["jwks.keys.0.kid", { jwks: { keys: [{ ...jwk, kid: "\0" }] } }],
      ["jwks.keys.0.more", { jwks: { keys: [{ ...jwk, more: { in: "it" } }] } }],
      ["jwks", { jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } }],
      ["jwks", { jwks: { keys: [jwk, jwk] } }],
      ["conditions", { issuer: "https://token.actions.githubusercontent.com" }],
      [
        "conditions",
        {
          issuer: "https://token.actions.githubusercontent.com",
          conditions: [{ claim: "repository_owner_id", prefix: "6" }],
        },
      ],
      [
        "conditions",
        {
          issuer: "https://api.cursor.com",
          conditions: [{ claim: "owner_email", equals: "a@example.com" }],
        },
      ],
      [
        "conditions",
        { issuer: "https://app.warp.dev", conditions: [{ claim: "teams", equals: "a" }] },
      ],
      ["conditions", { conditions: [{ claim: "a/b", equals: "c" }] }],
      ["agent_template", { agent_id: null, agent_template: "always" }],
      ["agent_template", { agent_id: null, agent_template: "a {b}" }],
      ["agent_template", { agent_id: null, agent_template: "a{}" }],
    ] as [string, JsonObject][]
  ) {
    assertInvalid(await tryPut({ ...trust, ...changes }), field);
  }
});

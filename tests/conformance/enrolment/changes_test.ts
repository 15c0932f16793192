/** Which fields of an enrolment can change, and which enrolment owns an agent's name. */
import assert from "node:assert/strict";
import {
  type Agent,
  assertError,
  assertInvalid,
  createAgent,
  endCreatedAgents,
  type JsonObject,
  operatorRpc,
  post,
  succeed,
} from "../client.ts";
import { join } from "../mesh_cast.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  type Enrolment,
  eventsOf,
  newName,
  put,
  revokeAll,
  tryEnrol,
  tryPut,
  use,
  whoami,
} from "./enrolments.ts";
import { Issuer } from "./issuer.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

const AUDIENCE = "https://agents.example.com";

/** A trust whose tokens name the agent by `sub`. */
async function trusted(fields: JsonObject = {}) {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "env", equals: "main" }],
    agent_template: "{sub}",
    ...fields,
  });
  return {
    issuer,
    enrolment_id,
    tokenOf: (sub: string, by = issuer) => by.sign({ aud: AUDIENCE, env: "main", sub }),
  };
}

async function enrolmentNow(wanted: string): Promise<Enrolment | undefined> {
  let cursor: string | null = null;
  do {
    const page: { enrolments: Enrolment[]; next_cursor: string | null } = await succeed(
      "/agent-artifacts/enrolment/list",
      { as: "operator", body: { limit: 1000, ...(cursor !== null && { cursor }) } },
    );
    const found = page.enrolments.find(({ enrolment_id }) => enrolment_id === wanted);
    if (found !== undefined) return found;
    cursor = page.next_cursor;
  } while (cursor !== null);
  return undefined;
}

Deno.test("/enrolment/put with the enrolment_id of a trust → its keys are replaced, all else stays, and its agents go on", async () => {
  const { issuer, enrolment_id, tokenOf } = await trusted({ tags: ["tag:ci"] });
  const before = await enrolmentNow(enrolment_id);
  const sub = newName("run");
  const first = await enrol({ token: await tokenOf(sub) });
  await use(first);
  const { addresses } = await join(agentOf(first));
  const next = await Issuer.create(issuer.url);

  // Rotate keys: first accept both sets, then only the new one.
  const [old, young] = [issuer.jwks.keys, next.jwks.keys];
  for (const [keys, expected] of [[[...old, ...young], 200], [young, 401]] as const) {
    const jwks = { keys } as never;
    const { status, body } = await tryPut({ kind: "trust", enrolment_id, jwks });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body, { ...before, jwks });
    assert.deepEqual(await enrolmentNow(enrolment_id), { ...before, jwks });
    assert.equal((await whoami(first)).status, 200);
    assert.equal((await tryEnrol({ token: await tokenOf(sub) })).status, expected);
  }
  const last = await enrol({ token: await tokenOf(sub, next) });
  assert.deepEqual([last.agent_id, last.tags], [sub, ["tag:ci"]]);
  assert.deepEqual((await join(agentOf(last))).addresses, addresses);
  const told = await eventsOf("enrolment.keys_replaced");
  assert.equal(told.filter((event) => event["enrolment_id"] === enrolment_id).length, 2);
});

Deno.test("/enrolment/put with an enrolment_id and anything but public keys → 422 or 403, and the enrolment is what it was", async () => {
  const { issuer, enrolment_id, tokenOf } = await trusted();
  const fetched = await put({
    kind: "trust",
    issuer: "https://issuer.example.com",
    audience: AUDIENCE,
    conditions: [{ claim: "sub", equals: "a" }],
    agent_template: "{sub}",
  });
  const byKey = await put();
  const ended = await trusted();
  await revokeAll(ended.enrolment_id);
  const before = await enrolmentNow(enrolment_id);
  const jwks = issuer.jwks as never;
  const right = { kind: "trust", enrolment_id, jwks };
  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ jwks: null }, "jwks"],
    [{ jwks: { keys: [] } }, "jwks.keys"],
    [{ jwks: { keys: [{ kty: "oct", k: "AAAA", kid: "a" }] } }, "jwks"],
    [{ jwks: { keys: [issuer.jwks.keys[0], issuer.jwks.keys[0]] as never } }, "jwks"],
    [{ audience: "https://other.example.com" }, "audience"],
    [{ conditions: [{ claim: "env", equals: "other" }] }, "conditions"],
    [{ tags: ["tag:other"] }, "tags"],
    [{ kind: "key" }, "kind"],
    [{ enrolment_id: "enr_1" }, "enrolment_id"],
    [{ enrolment_id: `enr_${"0".repeat(32)}` }, "enrolment_id"],
    [{ enrolment_id: fetched.enrolment_id }, "enrolment_id"],
    [{ enrolment_id: byKey.enrolment_id }, "enrolment_id"],
    [{ enrolment_id: ended.enrolment_id }, "enrolment_id"],
  ];
  for (const [fields, path] of wrong) {
    assertInvalid(await tryPut({ ...right, ...fields }), path);
  }
  const agent = await createAgent("agent");
  assertError(
    await post("/agent-mesh/enrolment/put", { as: agent, body: right }),
    403,
    "forbidden",
  );
  assert.deepEqual(await enrolmentNow(enrolment_id), before);
  assert.equal((await tryEnrol({ token: await tokenOf(newName("run")) })).status, 200);
});

Deno.test("a token that two live trusts take → refused, and the agent works on; the first revoked → the name stays taken while it has files, until the operator shares it", async () => {
  const first = await trusted();
  const sub = newName("run");
  const agent = await enrol({ token: await first.tokenOf(sub) });
  await use(agent);
  const { artifact_id } = await succeed<{ artifact_id: string }>("/agent-artifacts/register", {
    as: agentOf(agent),
    body: { key: "kept", mime: "text/plain", size: 1, ttl_days: 1 },
  });
  const second = await put({
    kind: "trust",
    issuer: first.issuer.url,
    audience: AUDIENCE,
    jwks: first.issuer.jwks as never,
    agent_template: "{sub}",
    conditions: [{ claim: "sub", prefix: "new-run-" }],
  });
  const token = await first.tokenOf(sub);
  assertError(await tryEnrol({ token }), 401, "enrolment_refused");
  assertError(
    await tryEnrol({ token, enrolment_id: second.enrolment_id }),
    409,
    "agent_name_taken",
  );
  assert.equal((await whoami(agent)).status, 200);
  await revokeAll(first.enrolment_id);
  assertError(await tryEnrol({ token }), 409, "agent_name_taken");
  await operatorRpc("share_agent", { agent_id: sub, way: second.enrolment_id });
  const again = await enrol({ token });
  assert.equal(again.agent_id, sub);
  const { status } = await post("/agent-artifacts/delete", {
    as: agentOf(again),
    body: { artifact_id },
  });
  assert.equal(status, 200);
});

/** What an agent of the operator can be. Its name stays the operator's. */
const HOLDERS: readonly {
  readonly what: string;
  readonly make: (agent: Agent) => Promise<unknown>;
}[] = [
  {
    what: "an agent whose key the operator made",
    make: () => Promise.resolve(),
  },
  {
    what: "an agent whose key from the operator is revoked",
    make: ({ id }) => operatorRpc("revoke_agent_keys", { agent_id: id }),
  },
  {
    what: "an agent whose key from the operator has expired",
    async make(agent) {
      await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
      const { body } = await operatorRpc<{ key: string }>("create_agent_key", {
        agent_id: agent.id,
        expires_at: new Date(Date.now() + 4_000).toISOString(),
      });
      while ((await whoami({ ...agent, key: body.key })).status === 200);
    },
  },
  {
    what: "an agent without a key that has a peer",
    async make(agent) {
      await join(agent);
      await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
    },
  },
];

for (const { what, make } of HOLDERS) {
  Deno.test(`a token whose claims spell the name of ${what} → agent_name_taken, until the operator shares it`, async () => {
    const planner = await createAgent("planner");
    await make(planner);
    const { tokenOf, enrolment_id } = await trusted();
    const token = await tokenOf(planner.id);
    const before = (await whoami(planner)).status;
    assertError(await tryEnrol({ token }), 409, "agent_name_taken");
    assert.equal((await whoami(planner)).status, before);
    await operatorRpc("share_agent", { agent_id: planner.id, way: enrolment_id });
    assert.equal((await enrol({ token })).agent_id, planner.id);
  });
}

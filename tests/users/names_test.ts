/** A name belongs to the way by which it first came; another way in is refused until a hand-over. */
import assert from "node:assert/strict";
import { grant, inbox, listed, publish } from "../conformance/artifacts.ts";
import {
  type Agent,
  type Answer,
  assertError,
  assertInvalid,
  createAgent,
  endCreatedAgents,
  type JsonObject,
  operatorRpc,
  post,
  send,
  succeed,
} from "../conformance/client.ts";
import { assertUnauthenticated } from "../conformance/credentials.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  revokeAll,
  tryEnrol,
  tryPut,
  whoami,
} from "../conformance/enrolment/enrolments.ts";
import { Issuer } from "../conformance/enrolment/issuer.ts";
import { withStackDatabase } from "../database/connection.ts";
import { signIn } from "./signed_in.ts";

const AUDIENCE = "https://agents.example.com";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

interface Outcome {
  readonly status: number;
  readonly code: unknown;
}

const TAKEN: Outcome = { status: 409, code: "agent_name_taken" };

function outcomeOf({ status, body }: Answer): Outcome {
  return { status, code: (body["error"] as JsonObject | undefined)?.["code"] };
}

/** A way in: how somebody becomes the agent of a name, and what the database calls the way. */
interface Way {
  readonly what: string;
  /** Tries to become the agent. Its answer is that of the attempt, or of the first request. */
  readonly enter: (name: string) => Promise<Outcome>;
  readonly wayOf: (name: string) => Promise<string>;
}

async function trustOf(template = "{sub}") {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    ...{ kind: "trust", issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "env", equals: "main" }], agent_template: template },
  });
  return {
    enrolment_id,
    enrol: async (sub: string) =>
      await tryEnrol({ token: await issuer.sign({ aud: AUDIENCE, env: "main", sub }) }),
  };
}

/** New ways, each with an enrolment of its own. */
async function newWays(): Promise<readonly Way[]> {
  const byKey = await put({ uses_left: null });
  const byTrust = await trustOf();
  const userIs = async (name: string) => {
    const { key } = await signIn({ id: name }, { shares: false });
    const headers = { authorization: `Bearer ${key}` };
    return outcomeOf(await send("/agent-artifacts/whoami", { headers }));
  };
  return [
    {
      what: "an agent key of the operator",
      enter: async (agent_id) => {
        const { status, body } = await operatorRpc("create_agent_key", { agent_id });
        return { status, code: body["message"] };
      },
      wayOf: () => Promise.resolve("operator"),
    },
    {
      what: "an enrolment key of a group",
      enter: async (agent_name) =>
        outcomeOf(await tryEnrol({ enrolment_key: byKey.enrolment_key, agent_name })),
      wayOf: () => Promise.resolve(byKey.enrolment_id),
    },
    {
      what: "a trust",
      enter: async (name) => outcomeOf(await byTrust.enrol(name)),
      wayOf: () => Promise.resolve(byTrust.enrolment_id),
    },
    { what: "a signed-in user", enter: userIs, wayOf: () => Promise.resolve("users") },
  ];
}

const HOW_MANY_WAYS = 4;

/** What the database knows of a name. */
async function stateOf(name: string): Promise<unknown> {
  return await withStackDatabase(async (sql) =>
    [
      await sql`select ways from agents.names where agent_id = ${name}`,
      await sql`select key_id, revoked_at from agents.keys where agent_id = ${name} order by key_id`,
      await sql`select enrolment_id, generation from agents.enrolled_agents where agent_id = ${name}`,
      await sql`select tag from agents.agent_tags where agent_id = ${name}`,
    ].map((rows) => Array.from(rows))
  );
}

for (let first = 0; first < HOW_MANY_WAYS; first++) {
  Deno.test(`a name that way ${first} of four has taken → 409 agent_name_taken for each other, with nothing changed, and 200 once it is shared`, async () => {
    const ways = await newWays();
    const owner = ways[first]!;
    const name = newName("finance");
    assert.equal((await owner.enter(name)).status, 200, owner.what);
    for (const other of ways.filter((way) => way !== owner)) {
      const before = await stateOf(name);
      assert.deepEqual(await other.enter(name), TAKEN);
      assert.deepEqual(await stateOf(name), before, `${owner.what}, then ${other.what}`);
      assert.equal((await owner.enter(name)).status, 200);
    }
    for (const other of ways.filter((way) => way !== owner)) {
      // An agent has one enrolment at a time.
      if (first === 2 && other.what.startsWith("an enrolment key")) continue;
      const { status } = await operatorRpc("share_agent", {
        ...{ agent_id: name, way: await other.wayOf(name) },
      });
      assert.equal(status, 200);
      assert.equal((await other.enter(name)).status, 200, `${owner.what}, ${other.what}`);
    }
  });
}

Deno.test("four ways in for one name at the same time, 12 times → exactly one of them gets it", async () => {
  const ways = await newWays();
  for (let round = 0; round < 12; round++) {
    const name = newName("race");
    const answers = await Promise.all(ways.map(({ enter }) => enter(name)));
    // A user that only reads may come before the name belongs to somebody.
    const took = answers.slice(0, 3).filter(({ status }) => status === 200).length;
    const [row] = await withStackDatabase((sql) =>
      sql<{ ways: string[] }[]>`select ways from agents.names where agent_id = ${name}`
    );
    assert.equal(row!.ways.length, 1);
    assert.equal(took, row!.ways[0] === "users" ? 0 : 1, JSON.stringify(answers));
    const again = await Promise.all(ways.map(({ enter }) => enter(name)));
    assert.equal(again.filter(({ status }) => status === 200).length, 1);
    assert.equal(again.filter(({ status }) => status === 409).length, 3);
  }
});

Deno.test("a name that the operator used in the body of /register or /peer/register → not for enrolments and users", async () => {
  const bodies: readonly (readonly [string, JsonObject])[] = [
    ["/agent-artifacts/register", { key: "a", mime: "text/plain", size: 1, ttl_days: 1 }],
    [
      "/agent-mesh/peer/register",
      { pubkey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(31)), 1)) },
    ],
  ];
  for (const [path, body] of bodies) {
    const ways = await newWays();
    const name = newName("payroll");
    await succeed(path, { as: "operator", body: { agent_id: name, ...body } });
    for (const other of ways.slice(1)) {
      assert.deepEqual(await other.enter(name), TAKEN);
    }
    assert.equal((await ways[0]!.enter(name)).status, 200);
    await operatorRpc("remove_agent", { agent_id: name });
  }
});

Deno.test("a user's first request is a change → the name is the users' at once", async () => {
  const [, byKey] = await newWays();
  const user = await signIn({ id: newName("ada") });
  await publish(user);
  assert.deepEqual(await byKey!.enter(user.id), TAKEN);
});

async function takeOver(agent_id: string): Promise<void> {
  let remaining = true;
  while (remaining) {
    const { status, body } = await operatorRpc<{ remaining: boolean }>("take_over_agent", {
      ...{ agent_id, max_entries: 2 },
    });
    assert.equal(status, 200, JSON.stringify(body));
    ({ remaining } = body);
  }
}

Deno.test("take_over_agent of a stranger's finance, in steps of two → its key, files, grants, inbox, peer, rules, tags, blocks and events end for it, and the operator's agent has none of them", async () => {
  const { enrolment_key } = await put({ uses_left: null, tags: ["tag:group"] });
  const agent_name = newName("finance");
  const stranger = agentOf(await enrol({ enrolment_key, agent_name }));
  const planner = await createAgent("planner");
  const links: string[] = [];
  for (let file = 0; file < 3; file++) {
    const { token } = await grant(stranger, await publish(stranger, { key: `secret/${file}` }), {
      to: planner,
    });
    links.push(token);
    await grant(planner, await publish(planner, { key: `payroll/${file}` }), { to: stranger });
  }
  await post("/agent-artifacts/inbox/block", { as: stranger, body: { from_agent: planner.id } });
  await operatorRpc("set_agent_tags", { agent_id: agent_name, tags: ["tag:eu"] });
  await operatorRpc("set_agent_quota", { agent_id: agent_name, quota_bytes: 1 });
  const peers: Agent[] = [stranger, planner];
  const addresses: unknown[] = [];
  for (const as of peers) {
    const peer = await succeed("/agent-mesh/peer/register", {
      as,
      body: {
        pubkey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(31)), 1)),
      },
    });
    addresses.push(peer["addresses"]);
    await succeed("/agent-mesh/acl/put", {
      as,
      body: { from_agent: planner.id, to_agent: agent_name, port: 22, proto: "tcp" },
    });
  }

  // A take-over that stops after its first call leaves nobody in.
  const { body: step } = await operatorRpc<{ remaining: boolean }>("take_over_agent", {
    ...{ agent_id: agent_name, max_entries: 2 },
  });
  assert.equal(step.remaining, true);
  assertUnauthenticated(await whoami(stranger));
  for (const { enter } of await newWays()) {
    assert.deepEqual(await enter(agent_name), TAKEN);
  }
  assertError(await tryEnrol({ enrolment_key, agent_name }), 409, "agent_name_taken");

  await takeOver(agent_name);
  assertError(await tryEnrol({ enrolment_key, agent_name }), 409, "agent_name_taken");
  const { body } = await operatorRpc<{ key: string; key_id: string }>("create_agent_key", {
    agent_id: agent_name,
  });
  const finance: Agent = { id: agent_name, key: body.key, keyId: body.key_id };
  assert.deepEqual((await whoami(finance)).body["tags"], []);
  assert.deepEqual(await listed(finance), []);
  assert.deepEqual(await inbox(finance), []);
  const events = await post("/agent-artifacts/events", { as: finance });
  assert.deepEqual(
    (events.body["events"] as JsonObject[]).filter(({ type }) => type !== "key.created"),
    [],
  );
  for (const grant_token of links) {
    const fetched = await post("/agent-artifacts/fetch", { as: "nobody", body: { grant_token } });
    assert.equal(fetched.status, 410);
  }
  const peer = await succeed<{ addresses: string[] }>("/agent-mesh/peer/register", {
    as: finance,
    body: { pubkey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(31)), 1)) },
  });
  assert.notDeepEqual(peer.addresses, addresses[0]);
  const map = await succeed<{ acls: unknown[]; acl_requests: unknown[] }>("/agent-mesh/netmap", {
    as: finance,
  });
  assert.deepEqual([map.acls, map.acl_requests], [[], []]);
  // A new grant arrives: no block of the stranger's is left.
  await grant(planner, await publish(planner, { key: "payroll/new" }), { to: finance });
  assert.deepEqual((await inbox(finance)).map(({ key }) => key), ["payroll/new"]);
  const [told] = await eventsOf("agent.taken_over", { agent_id: agent_name });
  assert.ok(told !== undefined);
  await takeOver(agent_name);
  assert.equal((await whoami(finance)).status, 200, "a second take-over changes nothing");
  await operatorRpc("remove_agent", { agent_id: agent_name });
});

Deno.test("take_over_agent of a user's name → its users are refused and told why", async () => {
  const user = await signIn({ id: newName("ada") });
  await publish(user);
  await takeOver(user.id);
  assertError(await post("/agent-artifacts/list", { as: user }), 409, "agent_name_taken");
  assert.equal((await operatorRpc("create_agent_key", { agent_id: user.id })).status, 200);
  await operatorRpc("remove_agent", { agent_id: user.id });
});

Deno.test("an enrolment key for more than one use without agent_prefix, agent_template or agent_id → 422, and no enrolment is made", async () => {
  const count = () =>
    withStackDatabase((sql) => sql`select count(*)::integer as count from agents.enrolments`);
  const before = await count();
  for (const uses_left of [null, 2]) {
    assertInvalid(await tryPut({ kind: "key", uses_left }), "agent_prefix");
  }
  for (
    const agent_template of ["always", "{agent_name}", "a-{sub}", "a-{agent_name}-{agent_name}"]
  ) {
    assertInvalid(await tryPut({ kind: "key", agent_template }), "agent_template");
  }
  assertInvalid(await tryPut({ kind: "key", agent_prefix: "-a" }), "agent_prefix");
  assertInvalid(await tryPut({ kind: "key", agent_prefix: "a-", agent_id: "a-b" }), "agent_id");
  const rpc = await operatorRpc("put_enrolment", {
    caller: { kind: "operator" },
    enrolment: { kind: "key", session_seconds: 60, uses_left: null },
  });
  assert.equal(rpc.status, 422, "the database decides");
  assert.deepEqual(await count(), before);
});

Deno.test("/enroll by an enrolment key with agent_prefix or agent_template → names of its own alone", async () => {
  const prefixed = await put({ uses_left: null, agent_prefix: "new-builders-" });
  const named = newName("builders");
  const enrolAs = (agent_name: string) =>
    tryEnrol({ enrolment_key: prefixed.enrolment_key, agent_name });
  for (const name of ["new-builders-", "finance", `x${named}`, named.toUpperCase()]) {
    assertInvalid(await enrolAs(name), "agent_name");
  }
  assert.equal((await enrolAs(named)).body["agent_id"], named);
  const formed = await put({ uses_left: null, agent_template: "new-vm-{agent_name}.eu" });
  const id = crypto.randomUUID();
  const enrolled = await enrol({ enrolment_key: formed.enrolment_key, agent_name: id });
  assert.equal(enrolled.agent_id, `new-vm-${id}.eu`);
  assertInvalid(
    await tryEnrol({ enrolment_key: formed.enrolment_key, agent_name: "a".repeat(125) }),
    "agent_name",
  );
});

Deno.test("share_agent with what is no way in, or a name that is none → 422, and nothing changed", async () => {
  const { id } = await createAgent("planner");
  const ended = await put();
  await revokeAll(ended.enrolment_id);
  const before = await stateOf(id);
  for (const way of ["everybody", "", null, ended.enrolment_id, `enr_${"0".repeat(32)}`]) {
    assert.equal((await operatorRpc("share_agent", { agent_id: id, way })).status, 422);
  }
  assert.equal((await operatorRpc("share_agent", { agent_id: "-", way: "users" })).status, 422);
  assert.deepEqual(await stateOf(id), before);
});

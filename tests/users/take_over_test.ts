/** The operator takes a name from its holder, whose agent ends. */
import assert from "node:assert/strict";
import { grant, inbox, listed, publish, secondsFromNow } from "../conformance/artifacts.ts";
import {
  type Agent,
  assertError,
  createAgent,
  endCreatedAgents,
  type JsonObject,
  operatorRpc,
  post,
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
  tryEnrol,
  whoami,
} from "../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../database/connection.ts";
import { signIn } from "./signed_in.ts";
import { newWays, TAKEN } from "./ways.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

async function takeOver(agent_id: string): Promise<void> {
  let remaining = true;
  while (remaining) {
    const { status, body } = await operatorRpc<{ remaining: boolean }>("take_over_agent", {
      agent_id,
      max_entries: 2,
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
    agent_id: agent_name,
    max_entries: 2,
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

Deno.test("take_over_agent of a name with more counted reads than one call writes → remaining, until all are written: the next holder's log never tells of the former one's files", async () => {
  const { enrolment_key } = await put({ uses_left: null, tags: [] });
  const agent_name = newName("finance");
  const stranger = agentOf(await enrol({ enrolment_key, agent_name }));
  const { artifact_id } = await publish(stranger, { key: "secret" });
  const countedReads = async () =>
    await withStackDatabase(async (sql) =>
      (await sql`select from agents.reads where subject_agent_id = ${agent_name}`).length
    );
  const tag = `tag:${crypto.randomUUID()}`;
  for (let reader = 0; reader < 3; reader++) {
    const { id, key } = await createAgent("reader");
    await operatorRpc("set_agent_tags", { agent_id: id, tags: [tag] });
    if (reader === 0) {
      await succeed("/agent-artifacts/grant", {
        as: stranger,
        body: { artifact_id, to_tag: tag, expires_at: secondsFromNow(600) },
      });
    }
    await succeed("/agent-artifacts/open", { as: { id, key } as Agent, body: { artifact_id } });
  }
  assert.equal(await countedReads(), 3);

  const { body: step } = await operatorRpc<{ remaining: boolean }>("take_over_agent", {
    agent_id: agent_name,
    max_entries: 2,
  });
  assert.equal(step.remaining, true);
  await takeOver(agent_name);
  assert.equal(await countedReads(), 0);
  await operatorRpc("remove_agent", { agent_id: agent_name });
});

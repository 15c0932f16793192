/** Situations of agents that have ended, and what must be true of each however much later. */
import assert from "node:assert/strict";
import {
  grant,
  inbox,
  listed,
  publish,
  redeem,
  secondsFromNow,
} from "../../conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  type JsonObject,
  operatorRpc,
  post,
  succeed,
} from "../../conformance/client.ts";
import {
  agentOf,
  enrol,
  type Enrolled,
  newName,
  put,
  revokeAll,
  tryEnrol,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import { join } from "../../conformance/mesh_cast.ts";
import { signIn } from "../../users/signed_in.ts";
import { askWhenAllIsOld } from "./later_times.ts";

const AUDIENCE = "https://agents.example.com";
const IN_FIVE_YEARS = 5 * 365 * 86_400;
export const MONTH = 31;
export const YEARS = 400;
/** After this, even the log has forgotten the agent: EVENTS_RETENTION_DAYS is 400. */
export const LOG_IS_GONE = 900;

/** What a record must still do after a time. */
export interface Situation {
  /** Texts of which each row that belongs to the situation contains one. */
  readonly texts: readonly string[];
  readonly check: (days: number) => Promise<void>;
}

interface Erased extends JsonObject {
  pseudonym: string;
  remaining: boolean;
}

const FOREVER = { uses_left: null, expires_at: null };

/** An agent of a new enrolment key that gave a link for five years, and left. */
async function leaver(
  fields: JsonObject = {},
  named: JsonObject = { agent_name: newName("leaver") },
) {
  const { enrolment_id, enrolment_key } = await put({ ...FOREVER, ...fields });
  const enrolled = await enrol({ enrolment_key, ...named });
  const agent = agentOf(enrolled);
  const artifact = await publish(agent, { ttl_days: 365 });
  const { token, grant_id } = await grant(agent, artifact, {
    expires_at: secondsFromNow(IN_FIVE_YEARS),
  });
  const texts = [agent.id, enrolment_id, grant_id, artifact.artifact_id];
  const proof = { enrolment_key, ...named };
  return { agent, enrolled, enrolment_id, proof, token, texts };
}

function leave(agent: Agent): Promise<unknown> {
  return succeed("/agent-artifacts/leave", { as: agent });
}

/** Asserts that a revocation with undo_grants ends the one grant, as long as its file lives. */
async function assertCuts(enrolment_id: string, token: string, days: number): Promise<void> {
  const { status } = await redeem(token);
  if (days >= LOG_IS_GONE) return assert.equal(status, 404, "the file is gone, with its grants");
  assert.equal(status, days < 365 ? 200 : 410);
  const { grants } = await revokeAll(enrolment_id, { undo_grants: true });
  assert.equal(grants, 1, "a grant is live until its own end");
  assert.equal((await redeem(token)).status, 410);
}

async function assertKeptOut(proof: JsonObject, agent: Agent): Promise<void> {
  assert.equal((await tryEnrol(proof)).status, 401);
  assert.equal((await whoami(agent)).status, 401);
}

async function trustOf() {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const tags = [`tag:${newName("cluster")}`];
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "env", equals: "main" }],
    agent_template: "new-k8s-{pod}",
    tags,
  });
  const proofOf = async (pod: string) => ({
    token: await issuer.sign({ aud: AUDIENCE, env: "main", pod }),
  });
  return { enrolment_id, proofOf, tags };
}

function eventsOf(agent: Agent): Promise<{ events: JsonObject[] }> {
  return succeed("/agent-artifacts/events", { as: agent });
}

/** Asserts that the agent has nothing of an earlier holder of its name. */
async function assertNothingInherited(
  enrolled: Enrolled,
  { tags, addresses }: { readonly tags: readonly string[]; readonly addresses: unknown },
): Promise<void> {
  const agent = agentOf(enrolled);
  assert.deepEqual(await listed(agent), []);
  assert.deepEqual(await inbox(agent), []);
  assert.deepEqual((await whoami(enrolled)).body["tags"], tags);
  assert.deepEqual((await eventsOf(agent)).events, []);
  const given = await succeed<{ grants: unknown[] }>("/agent-artifacts/grants", { as: agent });
  assert.deepEqual(given.grants, []);
  assert.notDeepEqual((await join(agent)).addresses, addresses);
  const map = await succeed<{ acls: unknown[]; acl_requests: unknown[] }>("/agent-mesh/netmap", {
    as: agent,
  });
  assert.deepEqual([map.acls, map.acl_requests], [[], []]);
}

export const SITUATIONS: Readonly<Record<string, () => Promise<Situation>>> = {
  "an agent that left, then enrolment revoke --undo-grants": async () => {
    const { agent, enrolment_id, token, texts } = await leaver();
    await leave(agent);
    return { texts, check: (days) => assertCuts(enrolment_id, token, days) };
  },
  "enrolment revoke, then enrolment revoke --undo-grants": async () => {
    const { enrolment_id, token, texts } = await leaver();
    await revokeAll(enrolment_id);
    return { texts, check: (days) => assertCuts(enrolment_id, token, days) };
  },
  "a revoked enrolment whose agent another one took, then enrolment revoke --undo-grants":
    async () => {
      const agent_id = newName("leaver");
      const first = await leaver({ agent_id }, {});
      await revokeAll(first.enrolment_id);
      const second = await leaver({ agent_id }, {});
      const check = async (days: number) => {
        for (const one of [first, second]) await assertCuts(one.enrolment_id, one.token, days);
      };
      return { texts: [...first.texts, ...second.texts], check };
    },
  "an ephemeral agent without contact, then enrolment revoke --undo-grants": async () => {
    const { enrolment_id, token, texts } = await leaver({ ephemeral_seconds: 300 });
    return { texts, check: (days) => assertCuts(enrolment_id, token, days) };
  },
  "an agent that left, then agent remove": async () => {
    const { agent, texts } = await leaver();
    await leave(agent);
    return {
      texts,
      check: async (days) => {
        const { body } = await operatorRpc<{ grants: number }>("remove_agent", {
          agent_id: agent.id,
        });
        assert.equal(body.grants, days < LOG_IS_GONE ? 1 : 0);
      },
    };
  },
  "a removed agent, its enrolment and its users": async () => {
    const { agent, proof, texts } = await leaver();
    await operatorRpc("remove_agent", { agent_id: agent.id });
    const user = await signIn(agent, { shares: false });
    return { texts, check: () => assertKeptOut(proof, user) };
  },
  "an erased agent, its enrolment and its users": async () => {
    const { agent, proof, texts } = await leaver();
    let pseudonym: string | null = null;
    for (let remaining = true; remaining;) {
      const { body }: { body: Erased } = await operatorRpc<Erased>("erase_agent", {
        agent_id: agent.id,
        pseudonym,
      });
      ({ pseudonym, remaining } = body);
    }
    const user = await signIn(agent, { shares: false });
    return { texts: [...texts, String(pseudonym)], check: () => assertKeptOut(proof, user) };
  },
  "a revoked enrolment, and a revoked agent key": async () => {
    const { enrolment_id, proof, texts } = await leaver();
    await revokeAll(enrolment_id);
    const planner = await createAgent("planner");
    await operatorRpc("revoke_agent_keys", { agent_id: planner.id });
    return {
      texts: [...texts, planner.id],
      check: () => assertKeptOut(proof, planner),
    };
  },
  "a name of the operator with nothing left, and one of the users": async () => {
    const planner = await createAgent("new-planner");
    await operatorRpc("revoke_agent_keys", { agent_id: planner.id });
    const user = await signIn({ id: newName("ada") });
    assert.equal((await whoami(user)).status, 200);
    return {
      texts: [planner.id, user.id],
      check: async () => {
        for (const agent_name of [planner.id, user.id]) {
          const { enrolment_key } = await put({ uses_left: null });
          assert.equal((await tryEnrol({ enrolment_key, agent_name })).status, 409);
        }
        const asUser = await signIn(planner, { shares: false });
        assert.equal((await whoami(asUser)).status, 409);
        assert.equal((await operatorRpc("create_agent_key", { agent_id: user.id })).status, 409);
      },
    };
  },
  "a grant that is used up, one that is revoked, and a blocked sender": async () => {
    const [giver, reader] = [await createAgent("giver"), await createAgent("reader")];
    const expires_at = secondsFromNow(IN_FIVE_YEARS);
    const artifact = await publish(giver, { ttl_days: 365 });
    const used = await grant(giver, artifact, { expires_at, max_downloads: 1 });
    assert.equal((await redeem(used.token)).status, 200);
    const revoked = await grant(giver, artifact, { expires_at });
    await post("/agent-artifacts/revoke", { as: giver, body: { grant_id: revoked.grant_id } });
    await grant(giver, artifact, { to: reader, expires_at });
    await post("/agent-artifacts/inbox/block", { as: reader, body: { from_agent: giver.id } });
    return {
      texts: [giver.id, reader.id, artifact.artifact_id],
      check: async () => {
        for (const { token } of [used, revoked]) assert.ok((await redeem(token)).status >= 404);
        assert.deepEqual(await inbox(reader), []);
      },
    };
  },
  "a name that was taken over: the former holder's events": async () => {
    const { agent, texts } = await leaver();
    await operatorRpc("take_over_agent", { agent_id: agent.id });
    return {
      texts,
      check: async () => {
        const { body } = await operatorRpc<Enrolled>("create_agent_key", { agent_id: agent.id });
        assert.deepEqual((await eventsOf(agentOf(body))).events, []);
        await operatorRpc("remove_agent", { agent_id: agent.id });
      },
    };
  },
  "a name of one cluster, asked for by another one with the same template": async () => {
    const [one, other] = [await trustOf(), await trustOf()];
    const pod = crypto.randomUUID();
    const first = await enrol(await one.proofOf(pod));
    const agent = agentOf(first);
    const giver = await createAgent("giver");
    const expires_at = secondsFromNow(IN_FIVE_YEARS);
    const artifact = await publish(agent, { ttl_days: 365 });
    const given = await publish(giver, { ttl_days: 365 });
    await grant(agent, artifact, { to: giver, expires_at });
    await grant(giver, given, { to: agent, expires_at });
    await post("/agent-artifacts/inbox/block", { as: agent, body: { from_agent: "somebody" } });
    const { addresses } = await join(agent);
    await leave(agent);
    const enter = async () => await tryEnrol(await other.proofOf(pod));
    assert.equal((await enter()).status, 409);
    const ids = [first.agent_id, one.enrolment_id, artifact.artifact_id];
    const texts = [...ids, giver.id, given.artifact_id];
    return {
      texts,
      check: async (days) => {
        const { status, body } = days < LOG_IS_GONE
          ? await enter()
          : await askWhenAllIsOld(enter, { days, texts });
        assert.equal(status, days < LOG_IS_GONE ? 409 : 200, JSON.stringify(body));
        if (status !== 200) return;
        assert.deepEqual(body.tags, other.tags);
        await assertNothingInherited(body, { tags: other.tags, addresses });
      },
    };
  },
  "a name of a revoked enrolment that has left nothing but events": async () => {
    const [one, other] = [await trustOf(), await trustOf()];
    const pod = crypto.randomUUID();
    const agent = agentOf(await enrol(await one.proofOf(pod)));
    const { addresses } = await join(agent);
    await succeed("/agent-mesh/acl/put", {
      as: agent,
      body: { from_agent: "somebody", to_agent: agent.id, port: 22, proto: "tcp" },
    });
    await revokeAll(one.enrolment_id);
    return {
      texts: [agent.id, one.enrolment_id],
      check: async () => {
        const { status, body } = await tryEnrol(await other.proofOf(pod));
        assert.equal(status, 200, JSON.stringify(body));
        await assertNothingInherited(body, { tags: body.tags, addresses });
      },
    };
  },
};

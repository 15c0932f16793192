/** Creates enrolments, and agents that enrol by them. All are revoked at the end of the test. */
import assert from "node:assert/strict";
import {
  type Agent,
  type Answer,
  headersOf,
  type Json,
  type JsonObject,
  operatorRpc,
  post,
  send,
  succeed,
} from "../client.ts";

export interface Enrolment extends JsonObject {
  enrolment_id: string;
  kind: string;
  tags: string[];
  uses_left: number | null;
  expires_at: string | null;
  revoked_at: string | null;
}

export interface EnrolmentWithKey extends Enrolment {
  enrolment_key: string;
}

export interface Enrolled extends JsonObject {
  agent_id: string;
  key: string;
  key_id: string;
  expires_at: string;
  tags: string[];
  generation: number;
  ephemeral_seconds: number | null;
}

export interface Revoked extends JsonObject {
  agents: number;
  keys: number;
  peers: number;
  grants: number;
  remaining: number;
}

export interface Event extends JsonObject {
  type: string;
}

const made = new Set<string>();

/** For `Deno.test.afterEach`. */
export async function endMadeEnrolments(): Promise<void> {
  for (const enrolment_id of made) await revokeAll(enrolment_id);
  made.clear();
}

export function tryPut(fields: JsonObject): Promise<Answer<EnrolmentWithKey>> {
  return post("/agent-artifacts/enrolment/put", { as: "operator", body: fields });
}

/** The prefix of every `newName`. */
const PREFIX = "new-";

/**
 * Creates an enrolment with these fields, by default of kind `key`. With an enrolment key for more
 * than one use, agents can take each `newName`, if the fields do not say which names.
 */
export async function put(fields: JsonObject = {}): Promise<EnrolmentWithKey> {
  const { kind = "key", uses_left = 1, agent_id, agent_template } = fields;
  const needsPrefix = kind === "key" && uses_left !== 1 && !agent_id && !agent_template;
  const answer = await tryPut({ kind, ...(needsPrefix && { agent_prefix: PREFIX }), ...fields });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  made.add(answer.body.enrolment_id);
  return answer.body;
}

export function tryEnrol(
  proof: JsonObject,
  { by = "agent-artifacts" }: { by?: string } = {},
): Promise<Answer<Enrolled>> {
  return post(`/${by}/enroll`, { as: "nobody", body: proof });
}

export async function enrol(proof: JsonObject, options?: { by: string }): Promise<Enrolled> {
  const answer = await tryEnrol(proof, options);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** A unique name. */
export function newName(name: string): string {
  return `${PREFIX}${name}-${crypto.randomUUID().slice(0, 13)}`;
}

export function agentOf({ agent_id, key, key_id }: Enrolled): Agent {
  return { id: agent_id, key, keyId: key_id };
}

/** Calls /whoami: the cheapest use of an agent's key. */
export function whoami(agent: Agent | Enrolled): Promise<Answer> {
  const headers = headersOf("agent_id" in agent ? agentOf(agent as Enrolled) : agent as Agent);
  return send("/agent-artifacts/whoami", { headers });
}

/** Uses a key for the first time. */
export async function use(agent: Enrolled): Promise<void> {
  assert.equal((await whoami(agent)).status, 200);
}

/** Revokes until nothing remains. Returns the sums of all calls. */
export async function revokeAll(enrolment_id: string, more: JsonObject = {}): Promise<Revoked> {
  const sums: Revoked = { agents: 0, keys: 0, peers: 0, grants: 0, remaining: 0 };
  do {
    const step = await succeed<Revoked>("/agent-artifacts/enrolment/revoke", {
      as: "operator",
      body: { enrolment_id, ...more },
    });
    for (const count of ["agents", "keys", "peers", "grants"] as const) sums[count] += step[count];
    sums.remaining = step.remaining;
  } while (sums.remaining > 0);
  return sums;
}

/**
 * The events of a type in the last hour, oldest first, as the operator reads them: a test of a
 * deployment that is far away takes many minutes.
 */
export async function eventsOf(type: string, question: { [field: string]: Json } = {}) {
  const events: Event[] = [];
  let position: JsonObject = { since: new Date(Date.now() - 3_600_000).toISOString() };
  let more = true;
  // With many events of other tests, a page can be short and still have a next one.
  while (more) {
    const { body } = await operatorRpc<{ events: Event[]; latest: string; more: boolean }>(
      "find_events",
      { max_entries: 1000, types: [type], ...position, ...question },
    );
    events.push(...body.events);
    position = { after: body.latest };
    more = body.more;
  }
  return events;
}

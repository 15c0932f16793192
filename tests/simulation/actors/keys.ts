import { BOXES, type Credential, end, GUESTS } from "../known/identities.ts";
import type { Known } from "../known/known.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";
import { call } from "./operator_calls.ts";

/** From now on, the agent works with this key. */
export function takeUp(turn: Turn, credential: Credential): void {
  const { agents, identities } = turn.known;
  identities.credentials.push(credential);
  turn.world.transcript.rename(credential.id, `key ${identities.credentials.length}`);
  const at = agents.findIndex(({ name }) => name === credential.name);
  if (at === -1) agents.push(credential);
  else agents[at] = credential;
}

/** Nobody names the agent from now on. */
export function forget({ agents }: Known, agentId: string): void {
  const at = agents.findIndex(({ name }) => name === agentId);
  if (at !== -1) agents.splice(at, 1);
}

export function someKey(turn: Turn): Credential | null {
  const { credentials } = turn.known.identities;
  return credentials.length === 0
    ? null
    : turn.world.decisions.pick(`${turn.step} key`, credentials, ({ id }) => id);
}

/** A name that comes and goes, and with which no other operator is busy. */
export function someName(turn: Turn): string | null {
  const name = turn.random.pick([...GUESTS, ...BOXES]);
  return turn.known.identities.busy.has(name) ? null : name;
}

/** Somebody who has had a key, and with whom no other operator is busy. */
export function someHolder(turn: Turn): string | null {
  const { credentials, busy } = turn.known.identities;
  const free = credentials.filter(({ name }) => !busy.has(name));
  return turn.pick(free, "holder")?.name ?? null;
}

export const KEY_MOVES: readonly Move[] = [
  {
    name: "operator makes a key",
    weight: 3,
    async play(turn) {
      const { identities } = turn.known;
      // The operator does not know which names others have taken.
      const agent_id = (turn.random.isOneIn(2) ? someHolder(turn) : null) ?? someName(turn);
      if (agent_id === null || identities.out.has(agent_id)) return;
      turn.say(`operator makes a key for ${agent_id}`);
      const { answer } = await call<{ key: string; key_id: string }>(
        turn,
        "create_agent_key",
        { agent_id },
      );
      if (answer === null || identities.busy.has(agent_id)) return;
      const { key, key_id: id } = answer;
      takeUp(turn, { name: agent_id, id, key, enrolment: null, generation: 0 });
    },
  },
  {
    name: "operator revokes a key",
    weight: 1.5,
    async play(turn) {
      const credential = someKey(turn);
      if (credential === null) return;
      turn.say(`operator revokes ${credential.id}`);
      const revoked = await call(turn, "revoke_agent_key", { key_id: credential.id });
      if (revoked.answer !== null) end([credential], revoked.end);
    },
  },
  {
    name: "operator revokes all keys",
    weight: 0.7,
    async play(turn) {
      const agent_id = someHolder(turn);
      if (agent_id === null) return;
      const ended = turn.known.identities.of(agent_id);
      turn.say(`operator revokes all keys of ${agent_id}`);
      const revoked = await call(turn, "revoke_agent_keys", { agent_id });
      if (revoked.answer !== null) end(ended, revoked.end);
    },
  },
  {
    name: "somebody uses a key",
    weight: 5,
    async play(turn) {
      const credential = someKey(turn);
      if (credential === null) return;
      const path = turn.random.pick(["/agent-artifacts/list", "/agent-artifacts/inbox"]);
      turn.say(`somebody uses ${credential.id} of ${credential.name}`);
      await turn.ask(path, credential, { limit: 100 });
    },
  },
];

import { BOXES, end, type KnownEnrolment } from "../known/identities.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";
import { someKey, someName, takeUp } from "./keys.ts";

const DAY = 86_400_000;

/** Whom an enrolment makes. One for one use is tried again for the same agent, as a rule. */
function someBox(turn: Turn, { name, isForOneUse }: KnownEnrolment): string {
  return isForOneUse && !turn.random.isOneIn(4)
    ? turn.world.decisions.pick(`box of ${name}`, BOXES, (box) => box)
    : turn.random.pick([...BOXES]);
}

/** Everybody who got a key of this agent by this enrolment uses it, the newest one first. */
async function useAll(turn: Turn, enrolment: KnownEnrolment, agentId: string): Promise<void> {
  const clones = turn.known.identities.of(agentId).filter((one) => one.enrolment === enrolment);
  for (const clone of clones.toReversed()) await turn.ask("/agent-artifacts/list", clone, {});
}

/** Somebody whose agent has ended tries to come back. */
export async function comeBack(turn: Turn, agentId: string): Promise<void> {
  const open = turn.known.identities.enrolments.filter((enrolment) =>
    enrolment.agentId === agentId || enrolment.agentId === null && agentId.startsWith("box-")
  );
  const enrolment = turn.pick(open, "way back");
  if (enrolment !== null) await enrol(turn, enrolment, agentId);
}

async function enrol(turn: Turn, enrolment: KnownEnrolment, agentId: string): Promise<void> {
  const request = {
    enrolment_key: enrolment.key,
    ...(enrolment.agentId === null ? { agent_name: agentId } : {}),
  };
  const nobody = { name: enrolment.name, key: "none" };
  const { status, answer } = await turn.ask("/agent-artifacts/enroll", nobody, request);
  if (status !== 200 || turn.known.identities.busy.has(agentId)) return;
  const { key, key_id: id, generation } = answer as Record<string, string>;
  takeUp(turn, { name: agentId, id: id!, key: key!, enrolment, generation: Number(generation) });
}

export const ENROLMENT_MOVES: readonly Move[] = [
  {
    name: "operator makes an enrolment",
    weight: 2.5,
    async play(turn) {
      const agentId = turn.random.isOneIn(3) ? someName(turn) : null;
      const isForOneUse = turn.random.isOneIn(3);
      const name = `e${turn.step}`;
      turn.say(`operator makes an enrolment for ${agentId ?? "boxes"}: ${name}`);
      const { status, answer } = await turn.ask("/agent-artifacts/enrolment/put", "operator", {
        kind: "key",
        ...(agentId === null ? { agent_prefix: "box-" } : { agent_id: agentId }),
        uses_left: isForOneUse ? 1 : null,
        session_seconds: turn.random.pick([600, 86_400]),
        ephemeral_seconds: turn.random.pick([null, 3600]),
        expires_at: new Date(Date.now() + turn.random.pick([1, 1000]) * DAY).toISOString(),
        tags: turn.random.pick([[], ["tag:box"]]),
      });
      if (status !== 200) return;
      const { enrolment_id: id, enrolment_key: key } = answer as Record<string, string>;
      turn.world.transcript.rename(id!, name);
      turn.known.identities.enrolments.push({ name, id: id!, key: key!, agentId, isForOneUse });
    },
  },
  {
    name: "an agent enrols",
    weight: 5,
    async play(turn) {
      const { identities } = turn.known;
      const enrolment = turn.pick(identities.enrolments);
      if (enrolment === null) return;
      const agentId = enrolment.agentId ?? someBox(turn, enrolment);
      if (identities.busy.has(agentId)) return;
      const clones = turn.random.pick([1, 1, 2]);
      turn.say(`${clones} clones of ${agentId} enrol with ${enrolment.name}`);
      await Promise.all(
        Array.from({ length: clones }, () => enrol(turn, enrolment, agentId)),
      );
      if (turn.random.isOneIn(2)) await useAll(turn, enrolment, agentId);
      if (!turn.random.isOneIn(3)) return;
      await enrol(turn, enrolment, agentId);
      await useAll(turn, enrolment, agentId);
    },
  },
  {
    name: "an agent leaves",
    weight: 1,
    async play(turn) {
      const credential = someKey(turn);
      if (credential === null) return;
      const ended = turn.known.identities.of(credential.name);
      turn.say(`${credential.name} leaves with ${credential.id}`);
      const left = await turn.ask("/agent-artifacts/leave", credential, {});
      if (left.status === 200) end(ended, left.end);
    },
  },
  {
    name: "operator revokes an enrolment",
    weight: 1,
    async play(turn) {
      const { identities, grants } = turn.known;
      const enrolment = turn.pick(identities.enrolments);
      if (enrolment === null) return;
      const isOf = (agent: object) => "enrolment" in agent && agent.enrolment === enrolment;
      const ended = identities.credentials.filter(isOf);
      const links = grants.filter(({ artifact }) => isOf(artifact.owner));
      turn.say(`operator revokes ${enrolment.name} and the grants of its agents`);
      const request = { enrolment_id: enrolment.id, undo_grants: true };
      const revoked = await turn.ask("/agent-artifacts/enrolment/revoke", "operator", request);
      if (revoked.status !== 200 || revoked.answer!["remaining"] !== 0) return;
      end(ended, revoked.end);
      enrolment.ended ??= revoked.end;
      for (const link of links) link.undone ??= revoked.end;
    },
  },
];

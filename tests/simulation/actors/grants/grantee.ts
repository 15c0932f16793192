import type { KnownGrant } from "../../known/known.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";
import { open } from "../owner.ts";

const MINUTE = 60_000;

async function fetchGrant(turn: Turn, { to, token }: KnownGrant): Promise<void> {
  const fetched = await turn.ask("/agent-artifacts/fetch", to, { grant_token: token });
  if (fetched.status === 200) await turn.download(to.name, fetched);
}

export const GRANTEE_MOVES: readonly Move[] = [
  {
    name: "owner grants",
    weight: 5,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      const to = turn.pick(turn.known.agents.filter((agent) => agent !== artifact?.owner), "to");
      if (artifact === null || to === null) return;
      const expiresAt = Date.now() + turn.random.pick([1, 60, 24 * 60]) * MINUTE;
      const most = turn.random.pick([null, null, 1]);
      const name = `g${turn.step}`;
      turn.say(`${artifact.owner.name} grants ${artifact.name} to ${to.name}: ${name}`);
      const { status, answer } = await turn.ask("/agent-artifacts/grant", artifact.owner, {
        artifact_id: artifact.id,
        to_agent: to.name,
        expires_at: new Date(expiresAt).toISOString(),
        ...(most === null ? {} : { max_downloads: most }),
      });
      if (status !== 200) return;
      const { grant_id: id, token } = answer as Record<string, string>;
      turn.world.transcript.rename(id!, name);
      turn.known.grants.push({ name, id: id!, artifact, to, token: token!, expiresAt });
    },
  },
  {
    name: "owner revokes",
    weight: 3,
    async play(turn) {
      const grant = turn.pick(turn.known.grants);
      if (grant === null) return;
      const { artifact, to, id } = grant;
      turn.say(`${artifact.owner.name} revokes ${grant.name}`);
      const request = turn.random.isOneIn(2)
        ? { grant_id: id }
        : { artifact_id: artifact.id, to_agent: to.name };
      await turn.ask("/agent-artifacts/revoke", artifact.owner, request);
      if (turn.random.isOneIn(2)) await fetchGrant(turn, grant);
    },
  },
  {
    name: "grantee opens",
    weight: 5,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      const agent = turn.pick(turn.known.agents, "agent");
      if (artifact === null || agent === null) return;
      turn.say(`${agent.name} opens ${artifact.name}`);
      await open(turn, agent, artifact);
    },
  },
  {
    name: "grantee fetches",
    weight: 5,
    async play(turn) {
      const grant = turn.pick(turn.known.grants);
      if (grant === null) return;
      turn.say(`${grant.to.name} fetches ${grant.name}`);
      await fetchGrant(turn, grant);
    },
  },
  {
    name: "grantee reads its inbox",
    weight: 2,
    async play(turn) {
      const agent = turn.pick(turn.known.agents)!;
      turn.say(`${agent.name} reads its inbox`);
      await turn.ask("/agent-artifacts/inbox", agent, { limit: 100 });
    },
  },
];

import type { KeyedRequest } from "../../known/keyed.ts";
import type { Heard } from "../../known/known.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";

const MINUTE = 60_000;

/** Sends the request once, or several times at once as a client that is in doubt. */
async function send(turn: Turn, { owner, request, artifact, to, name }: KeyedRequest) {
  const count = turn.random.pick([1, 1, 1, 2]);
  const answers = await Promise.all(
    Array.from({ length: count }, () => turn.ask("/agent-artifacts/grant", owner, request)),
  );
  const { grants } = turn.known;
  for (const { status, answer } of answers) {
    const { grant_id: id, token, expires_at } = (answer ?? {}) as Record<string, string>;
    if (status !== 200 || token === null || grants.some((grant) => grant.id === id)) continue;
    turn.world.transcript.rename(id!, `grant of ${name}`);
    grants.push({ name, id: id!, artifact, to, token: token!, expiresAt: Date.parse(expires_at!) });
  }
  return answers;
}

function wasLost(answers: readonly Heard[]): boolean {
  return answers.some(({ status }) => status === 0 || status >= 500);
}

export const KEYED_MOVES: readonly Move[] = [
  {
    name: "owner grants with an idempotency key",
    weight: 5,
    async play(turn) {
      const { artifacts, agents, keyed } = turn.known;
      const artifact = turn.pick(artifacts.filter(({ committed }) => committed !== undefined));
      const to = turn.pick(agents.filter((agent) => agent !== artifact?.owner), "to");
      if (artifact === null || to === null) return;
      const name = `i${turn.step}`;
      const request = {
        artifact_id: artifact.id,
        to_agent: to.name,
        expires_at: new Date(Date.now() + turn.random.pick([60, 2880]) * MINUTE).toISOString(),
        idempotency_key: name,
      };
      const asked = { name, owner: artifact.owner, artifact, to, request };
      keyed.push(asked);
      turn.say(`${artifact.owner.name} grants ${artifact.name} to ${to.name} once: ${name}`);
      if (wasLost(await send(turn, asked))) await send(turn, asked);
    },
  },
  {
    name: "owner repeats a grant",
    weight: 5,
    async play(turn) {
      const asked = turn.pick(turn.known.keyed);
      if (asked === null) return;
      turn.say(`${asked.owner.name} repeats ${asked.name}`);
      await send(turn, asked);
    },
  },
  {
    name: "owner uses an idempotency key for another grant",
    weight: 3,
    async play(turn) {
      const asked = turn.pick(turn.known.keyed);
      if (asked === null) return;
      const other = turn.pick(turn.known.agents, "other")!;
      const change = turn.random.pick([{ max_downloads: 3 }, { to_agent: other.name }]);
      const to = "to_agent" in change ? other : asked.to;
      turn.say(`${asked.owner.name} uses ${asked.name} for another grant`);
      await send(turn, { ...asked, to, request: { ...asked.request, ...change } });
    },
  },
];

import type { JsonObject } from "../../conformance/client.ts";
import type { Agent, Heard } from "../known/known.ts";
import type { Move } from "../registry.ts";
import { CREW, type KnownTake, taskOf } from "../known/tasks.ts";
import type { Turn } from "../turn.ts";

const MINUTE = 60_000;

function someWorker(turn: Turn): Agent {
  const workers = turn.known.grants.map(({ to }) => to);
  return turn.pick(workers, "worker") ?? turn.pick(turn.known.agents, "idle worker")!;
}

async function take(turn: Turn, agent: Agent): Promise<readonly KnownTake[]> {
  const request = { max: turn.random.pick([1, 3]), seconds: turn.random.pick([30, 300, 3600]) };
  turn.say(`${agent.name} takes ${request.max} tasks for ${request.seconds} s`);
  const entry = await turn.ask("/agent-artifacts/inbox/take", agent, request);
  if (entry.status !== 200) return [];
  const taken = (entry.answer!["tasks"] as Record<string, string>[]).map((task, index) => ({
    name: `t${turn.step}${index === 0 ? "" : `.${index}`}`,
    id: task["take_id"]!,
    agent,
    grantId: task["grant_id"]!,
    task: taskOf(task["grant_id"]!, agent.name, task["deliver"]),
    asked: entry.start,
    taken: entry.end,
    until: Date.parse(task["taken_until"]!),
    endings: 0,
  }));
  for (const { id, name } of taken) turn.world.transcript.rename(id, name);
  turn.known.tasks.takes.push(...taken);
  return taken;
}

/** A file of the worker, if it has one: the answer to a task. */
function reply(turn: Turn, { agent }: KnownTake): JsonObject {
  const own = turn.known.artifacts.filter(({ owner, committed }) =>
    owner.name === agent.name && committed !== undefined
  );
  const artifact = turn.pick(own, "reply");
  return artifact === null ? {} : { reply: { artifact_id: artifact.id } };
}

async function finish(turn: Turn, taken: KnownTake): Promise<void> {
  const requests = turn.random.pick([1, 1, 2]);
  const request = { take_id: taken.id, ...reply(turn, taken) };
  taken.endings += requests;
  await Promise.all(Array.from({ length: requests }, () => done(turn, taken, request)));
}

function done(turn: Turn, { agent }: KnownTake, request: JsonObject): Promise<Heard> {
  return turn.ask("/agent-artifacts/inbox/done", agent, request);
}

async function fail(turn: Turn, taken: KnownTake): Promise<void> {
  taken.endings++;
  await turn.ask("/agent-artifacts/inbox/fail", taken.agent, {
    take_id: taken.id,
    reason: "no",
    ...turn.random.pick<JsonObject>([{}, { retry_after_seconds: 0 }, { final: true }]),
  });
}

async function extend(turn: Turn, taken: KnownTake): Promise<void> {
  const before = taken.until;
  // Until it is answered, nobody knows.
  taken.until = Infinity;
  const request = { take_id: taken.id, seconds: turn.random.pick([30, 3600]) };
  const entry = await turn.ask("/agent-artifacts/inbox/extend", taken.agent, request);
  if (entry.status === 200) {
    taken.until = Date.parse(String(entry.answer!["taken_until"]));
    const { hasDatabaseGoneBack, identities } = turn.known;
    if (before < entry.askedAt && !hasDatabaseGoneBack) {
      identities.faults.push(`${taken.name} was extended after it had lapsed`);
    }
  } else if (entry.status === 409 || entry.status === 410) taken.until = before;
}

/** A move with some take, which may long be over. */
function withTake(
  name: string,
  weight: number,
  act: (turn: Turn, taken: KnownTake) => Promise<void>,
): Move {
  return {
    name: `worker ${name}`,
    weight,
    async play(turn) {
      const taken = turn.pick(turn.known.tasks.takes);
      if (taken === null) return;
      turn.say(`${taken.agent.name} ${name} ${taken.name}`);
      await act(turn, taken);
    },
  };
}

export const TASK_MOVES: readonly Move[] = [
  {
    name: "owner hands work out",
    weight: 6,
    async play(turn) {
      const { artifacts, agents, grants } = turn.known;
      const artifact = turn.pick(artifacts.filter(({ committed }) => committed !== undefined));
      const to = turn.pick(agents.filter((agent) => agent !== artifact?.owner), "to");
      if (artifact === null || to === null) return;
      const deliver = turn.random.pick([null, null, "each", "one"]);
      const expiresAt = Date.now() + turn.random.pick([5, 60, 24 * 60]) * MINUTE;
      const name = `g${turn.step}`;
      const whom = deliver === null ? to.name : `${deliver} of ${CREW}`;
      turn.say(`${artifact.owner.name} hands ${artifact.name} as work to ${whom}: ${name}`);
      const { status, answer } = await turn.ask("/agent-artifacts/grant", artifact.owner, {
        artifact_id: artifact.id,
        ...(deliver === null ? { to_agent: to.name } : { to_tag: CREW, deliver }),
        expires_at: new Date(expiresAt).toISOString(),
        max_attempts: turn.random.pick([1, 2, 5]),
      });
      if (status !== 200) return;
      const { grant_id: id, token } = answer as Record<string, string>;
      turn.world.transcript.rename(id!, name);
      grants.push({ name, id: id!, artifact, to, token: token!, expiresAt });
    },
  },
  {
    name: "worker takes tasks, and works",
    weight: 6,
    async play(turn) {
      const taken = await take(turn, someWorker(turn));
      await turn.sleep(turn.random.pick([1_000, 20_000, 400_000]));
      const act = turn.random.pick([finish, finish, fail, null]);
      if (act !== null) { for (const one of taken) await act(turn, one); }
    },
  },
  withTake("is done with", 4, finish),
  withTake("fails with", 2, fail),
  withTake("extends", 2, extend),
  {
    name: "grantee is done without a take",
    weight: 1.5,
    async play(turn) {
      const grant = turn.pick(turn.known.grants);
      if (grant === null) return;
      turn.say(`${grant.to.name} is done with ${grant.name}`);
      await turn.ask("/agent-artifacts/inbox/done", grant.to, { grant_id: grant.id });
    },
  },
  {
    name: "owner requeues",
    weight: 2,
    async play(turn) {
      const { grants, tasks } = turn.known;
      const held = turn.pick(tasks.takes);
      const grant = grants.find(({ id }) => id === held?.grantId) ?? turn.pick(grants);
      if (grant === null) return;
      turn.say(`${grant.artifact.owner.name} requeues ${grant.name}`);
      const request = { grant_id: grant.id };
      await turn.ask("/agent-artifacts/inbox/requeue", grant.artifact.owner, request);
      if (turn.random.isOneIn(2)) await take(turn, grant.to);
    },
  },
  {
    name: "owner revokes work",
    weight: 2,
    async play(turn) {
      const grant = turn.pick(turn.known.grants);
      if (grant === null) return;
      const { artifact, to, id, name } = grant;
      turn.say(`${artifact.owner.name} revokes ${name}, and ${to.name} looks for work`);
      await turn.ask("/agent-artifacts/revoke", artifact.owner, { grant_id: id });
      await take(turn, to);
    },
  },
];

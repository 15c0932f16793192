import type { Heard, Known } from "../known/known.ts";
import type { Invariant } from "../registry.ts";
import { taskOf } from "../known/tasks.ts";

const ENDING = new Set(["done", "fail", "extend"].map((name) => `/agent-artifacts/inbox/${name}`));

interface AnsweredTask {
  readonly take_id: string;
  readonly grant_id: string;
  readonly task: string;
}

/** The tasks that an answer has given to its caller. */
function taken({ operation, status, answer, agent }: Heard): readonly AnsweredTask[] {
  if (operation !== "/agent-artifacts/inbox/take" || status !== 200) return [];
  return (answer!["tasks"] as Record<string, string>[]).map(({ take_id, grant_id, deliver }) => ({
    take_id: take_id!,
    grant_id: grant_id!,
    task: taskOf(grant_id!, agent, deliver),
  }));
}

/** An agent that stays: nothing ends its takes but itself and time. */
function stays(agent: object): boolean {
  return !("enrolment" in agent);
}

function firstOf<Item>(items: readonly Item[], complain: (item: Item) => string | null) {
  for (const item of items) {
    const what = complain(item);
    if (what !== null) return what;
  }
  return null;
}

export const TASKS: readonly Invariant[] = [
  {
    name: "no task is held by two takes at once",
    hear(entry, { tasks, hasDatabaseGoneBack }) {
      if (hasDatabaseGoneBack) return null;
      return firstOf(taken(entry), ({ take_id: id, task }) => {
        const holds = tasks.others({ id, task }).find(({ agent, until, endings, taken }) =>
          taken < entry.end && stays(agent) && endings === 0 && Number.isFinite(until) &&
          until > entry.answeredAt
        );
        return holds === undefined ? null : `${holds.name} holds what ${id} was given`;
      });
    },
  },
  {
    name: "no task is given again after it was done",
    hear: (entry, { tasks }) =>
      firstOf(taken(entry), ({ task, take_id }) => {
        const finish = tasks.finished.get(task);
        return finish !== undefined && finish.place < entry.start ? `${take_id} was done` : null;
      }),
  },
  {
    name: "no task is given of what has ended",
    hear: (entry, { grants, hasDatabaseGoneBack }) =>
      firstOf(taken(entry), ({ take_id, grant_id }) => {
        const grant = grants.find(({ id }) => id === grant_id);
        if (grant === undefined) return null;
        const { deleted } = grant.artifact;
        if (deleted !== undefined && deleted < entry.start) return `${take_id}: deleted`;
        const isOver = !hasDatabaseGoneBack && grant.expiresAt < entry.askedAt;
        return isOver ? `${take_id}: expired` : null;
      }),
  },
  {
    name: "a take that was followed by another, or has lapsed, ends nothing",
    hear({ operation, status, request, start, askedAt }, { tasks, hasDatabaseGoneBack }) {
      if (!ENDING.has(operation) || status !== 200) return null;
      const used = tasks.takes.find(({ id }) => id === request["take_id"]);
      if (used === undefined) return null;
      const later = tasks.others(used).find((other) =>
        other.asked > used.taken && other.taken < start
      );
      if (later !== undefined) return `${used.name} was accepted after ${later.name}`;
      const isOnly = used.endings === 1 && !operation.endsWith("extend");
      return isOnly && !hasDatabaseGoneBack && stays(used.agent) && used.until < askedAt
        ? `${used.name} was accepted after it had lapsed`
        : null;
    },
  },
  {
    name: "a task has one outcome, however often it is asked for",
    hear(entry, { tasks }) {
      const { operation, status, request, answer, end, agent } = entry;
      if (operation !== "/agent-artifacts/inbox/done" || status !== 200) return null;
      const grantId = String(answer!["grant_id"]);
      const used = tasks.takes.find(({ id }) => id === request["take_id"]);
      const task = used?.task ?? taskOf(grantId, agent, null);
      const replyId = (answer!["reply"] as { grant_id: string } | null)?.grant_id ?? null;
      const former = tasks.finished.get(task);
      if (former === undefined) tasks.finished.set(task, { place: end, replyId });
      return former !== undefined && former.replyId !== replyId
        ? `${grantId} has two replies: ${former.replyId} and ${replyId}`
        : null;
    },
  },
  {
    name: "a task is answered once",
    sql: `select reply_to || ' has ' || count(*) || ' replies of ' || from_agent as broken
      from artifacts.hand_overs where reply_to is not null
      group by reply_to, from_agent having count(*) > 1`,
  },
  {
    name: "a version is of one artifact for ever",
    hear: (entry, known) => firstOf(numbered(entry), (one) => repeated(one, known)),
  },
  {
    name: "/versions lists what has not ended, newest first",
    hear({ operation, status, answer, start }, { artifacts }) {
      if (operation !== "/agent-artifacts/versions" || status !== 200) return null;
      const listed = answer!["versions"] as unknown as readonly Numbered[];
      const isSorted = listed.every(({ version }, at) =>
        at === 0 || version < listed[at - 1]!.version
      );
      if (!isSorted) return listed.map(({ version }) => version).join(", ");
      const ended = artifacts.find(({ id, deleted }) =>
        deleted !== undefined && deleted < start &&
        listed.some(({ artifact_id }) => artifact_id === id)
      );
      return ended === undefined ? null : `${ended.name} was deleted`;
    },
  },
];

interface Numbered {
  readonly artifact_id: string;
  readonly agent_id: string;
  readonly key: string;
  readonly version: number;
}

/** The artifacts of an answer that have a version. */
function numbered({ operation, status, answer }: Heard): readonly Numbered[] {
  if (status !== 200 || !operation.startsWith("/agent-artifacts/")) return [];
  const lists = ["versions", "artifacts"].flatMap((field) => answer?.[field] ?? []);
  return ([answer, ...lists] as unknown as readonly Numbered[]).filter((one) =>
    typeof one?.version === "number" && typeof one.agent_id === "string"
  );
}

function repeated({ artifact_id, agent_id, key, version }: Numbered, { tasks }: Known) {
  const name = `version ${version} of ${key} of ${agent_id}`;
  const former = tasks.versions.get(name);
  tasks.versions.set(name, artifact_id);
  return former === undefined || former === artifact_id
    ? null
    : `${name} is ${artifact_id}, and was ${former}`;
}

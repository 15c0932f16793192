/** Rules of tasks: one taker at a time, one outcome, one reply, and a lapsed take ends nothing. */
import {
  didHappen,
  effectEnd,
  entriesOf,
  type Entry,
  mayHappen,
  type Rule,
  type Violation,
} from "../history.ts";

/** What an answer of /inbox/take says of one task. */
interface Take {
  readonly entry: Entry;
  readonly takeId: string;
  readonly grantId: string;
  readonly giver: string;
  readonly grantedAt: string;
  readonly attempt: number;
  /** The take cannot have lapsed before this time. */
  readonly lastsUntil: number;
}

interface ShownGrant {
  readonly grant_id: string;
  readonly reply_to: string | null;
}

const PATH = "/agent-artifacts/inbox";

/** While a take lasts and has no outcome, nobody else gets its task. */
export const oneTakerAtATime: Rule = (history) => {
  const ends = endsIn(history);
  return successions(history).flatMap(([first, second]) => {
    const mayHaveEnded = (ends.get(first.takeId) ?? [])
      .some(({ start }) => start < second.entry.end);
    return second.entry.end < first.lastsUntil && !mayHaveEnded
      ? [{ rule: "two takers have one task", entries: [first.entry, second.entry] }]
      : [];
  });
};

/** What is done is not taken again, and not done by another take. */
export const doneIsFinal: Rule = (history) => {
  const takes = takesIn(history);
  const byId = new Map(takes.map((take) => [take.takeId, take]));
  const byGrant = Map.groupBy(takes, ({ grantId }) => grantId);
  const violations: Violation[] = [];
  const doneBy = new Map<string, Entry>();
  for (const done of entriesOf(history, `${PATH}/done`).filter(didHappen)) {
    const take = byId.get(String(done.request["take_id"]))!;
    const other = doneBy.get(take.grantId) ?? done;
    doneBy.set(take.grantId, other);
    if (other.request["take_id"] !== done.request["take_id"]) {
      violations.push({ rule: "a task was done twice", entries: [other, done] });
    }
    const again = byGrant.get(take.grantId)!.find(({ entry }) => entry.start > done.end);
    if (again !== undefined) {
      violations.push({ rule: "a task was taken after it was done", entries: [done, again.entry] });
    }
  }
  return violations;
};

/** After another agent or client has taken the task, the earlier take changes nothing. */
export const lapsedTakesAreFenced: Rule = (history) => {
  const endsByTake = endsIn(history);
  const extendedByTake = Map.groupBy(
    entriesOf(history, `${PATH}/extend`).filter(didHappen),
    ({ request }) => request["take_id"],
  );
  return successions(history).flatMap(([first, second]) => {
    const isFenced = ({ start }: Entry) => start > second.entry.end;
    const extended = extendedByTake.get(first.takeId) ?? [];
    const ends = endsByTake.get(first.takeId) ?? [];
    // An outcome that was recorded in time is answered again.
    const late = ends.every(isFenced) ? ends.filter(didHappen) : [];
    return [...extended.filter(isFenced), ...late].map((entry) => ({
      rule: "a lapsed take was accepted",
      entries: [first.entry, second.entry, entry],
    }));
  });
};

/**
 * Attempts count up until the giver requeues the task, and stay within `max_attempts`. A take that
 * its taker called interrupted is no attempt.
 */
export const attemptsCountUp: Rule = (history) => {
  const requeues = entriesOf(history, `${PATH}/requeue`).filter(mayHappen);
  const most = new Map(
    entriesOf(history, "/agent-artifacts/grant").filter(didHappen)
      .map(({ request, answer }) => [answer!["grant_id"], Number(request["max_attempts"])]),
  );
  const beyond = takesIn(history)
    .filter(({ grantId, attempt }) => attempt > (most.get(grantId) ?? Infinity))
    .map(({ entry }) => ({ rule: "a task has more attempts than it may", entries: [entry] }));
  const interrupted = interruptionsIn(history);
  const takes = Map.groupBy(takesIn(history), ({ grantId }) => grantId);
  const notCounted = (first: Take, second: Take) =>
    takes.get(first.grantId)!.filter(({ takeId, entry }) =>
      takeId !== second.takeId && entry.start >= first.entry.start && interrupted.has(takeId)
    ).length;
  const back = successions(history).filter(([first, second]) =>
    second.attempt <= first.attempt - notCounted(first, second) &&
    !requeues.some((requeue) =>
      requeue.request["grant_id"] === first.grantId && requeue.start < second.entry.end &&
      effectEnd(requeue) > first.entry.start
    )
  );
  return [
    ...beyond,
    ...back.map(([first, second]) => ({
      rule: "an attempt was not counted",
      entries: [first.entry, second.entry],
    })),
  ];
};

/**
 * One answer has first what has waited longest: since it was granted, or since it waits again after
 * it failed, lapsed, was interrupted or was requeued. The history shows only when it was granted.
 */
export const oldestFirst: Rule = (history) => {
  const requeued = entriesOf(history, `${PATH}/requeue`).map(({ request }) => request["grant_id"]);
  const takes = takesIn(history);
  const interrupted = interruptionsIn(history);
  // With an interrupted take, the next one is the first attempt again.
  const again = takes.filter(({ takeId }) => interrupted.has(takeId));
  const waitAgain = new Set([...requeued, ...again.map(({ grantId }) => grantId)]);
  const first = takes.filter(({ grantId, attempt }) => attempt === 1 && !waitAgain.has(grantId));
  return [...Map.groupBy(first, ({ entry }) => entry)].flatMap(([entry, takes]) => {
    const times = takes.map(({ grantedAt }) => grantedAt);
    return times.join() === times.toSorted().join()
      ? []
      : [{ rule: "a younger task was taken first", entries: [entry] }];
  });
};

/** A task that is done with a reply has one reply, and the giver's inbox shows it. */
export const oneReplyPerTask: Rule = (history) => {
  const takes = new Map(takesIn(history).map((take) => [take.takeId, take]));
  const inboxes = entriesOf(history, PATH)
    .filter((read) => didHappen(read) && read.answer!["next_cursor"] === null);
  const violations: Violation[] = [];
  for (const inbox of inboxes) {
    const replies = grantsIn(inbox).filter(({ reply_to }) => reply_to !== null);
    if (new Set(replies.map(({ reply_to }) => reply_to)).size < replies.length) {
      violations.push({ rule: "a task has two replies", entries: [inbox] });
    }
  }
  for (const done of entriesOf(history, `${PATH}/done`).filter(didHappen)) {
    const reply = done.answer!["reply"] as unknown as { grant_id: string } | null;
    if (reply === null) continue;
    const { giver } = takes.get(String(done.request["take_id"]))!;
    const without = inboxes.find((inbox) =>
      inbox.agent === giver && inbox.start > done.end &&
      !grantsIn(inbox).some(({ grant_id }) => grant_id === reply.grant_id)
    );
    if (without !== undefined) {
      violations.push({ rule: "a reply is lost", entries: [done, without] });
    }
  }
  return violations;
};

/** Requests with one idempotency key make one grant, and one of them tells its token. */
export const oneGrantPerKey: Rule = (history) => {
  const granted = entriesOf(history, "/agent-artifacts/grant")
    .filter((entry) => didHappen(entry) && entry.request["idempotency_key"] !== undefined);
  const byKey = Map.groupBy(
    granted,
    ({ agent, request }) => `${agent} ${request["idempotency_key"]}`,
  );
  return [...byKey.values()].flatMap((entries) => {
    const ids = new Set(entries.map(({ answer }) => answer!["grant_id"]));
    const tokens = entries.filter(({ answer }) => answer!["token"] !== null);
    return ids.size > 1 || tokens.length > 1
      ? [{ rule: "one idempotency key has two grants or tokens", entries }]
      : [];
  });
};

/** The takes that were given back as interrupted, or may have been, by their `take_id`. */
function interruptionsIn(history: readonly Entry[]): ReadonlySet<string> {
  return new Set(
    entriesOf(history, `${PATH}/fail`)
      .filter((entry) => entry.request["interrupted"] === true && mayHappen(entry))
      .map(({ request }) => String(request["take_id"])),
  );
}

function takesIn(history: readonly Entry[]): Take[] {
  return entriesOf(history, `${PATH}/take`).filter(didHappen).flatMap((entry) =>
    (entry.answer!["tasks"] as Record<string, string>[]).map((task) => ({
      entry,
      takeId: task["take_id"]!,
      grantId: task["grant_id"]!,
      giver: task["from_agent"]!,
      grantedAt: task["granted_at"]!,
      attempt: Number(task["attempt"]),
      lastsUntil: entry.start + Number(entry.request["seconds"]) * 1000,
    }))
  );
}

/** Every pair of takes of one task, where the second began after the first was answered. */
function successions(history: readonly Entry[]): [first: Take, second: Take][] {
  return [...Map.groupBy(takesIn(history), ({ grantId }) => grantId).values()].flatMap((takes) =>
    takes.flatMap((first) =>
      takes.filter(({ entry }) => entry.start > first.entry.end)
        .map((second): [Take, Take] => [first, second])
    )
  );
}

/** The requests that may have recorded an outcome, by `take_id`. */
function endsIn(history: readonly Entry[]): ReadonlyMap<unknown, Entry[]> {
  return Map.groupBy(
    history.filter((entry) =>
      [`${PATH}/done`, `${PATH}/fail`].includes(entry.operation) && mayHappen(entry)
    ),
    ({ request }) => request["take_id"],
  );
}

function grantsIn(inbox: Entry): ShownGrant[] {
  return inbox.answer!["grants"] as unknown as ShownGrant[];
}

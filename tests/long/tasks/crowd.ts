/** Takers of four agents of a tag, which race for its tasks. */
import { secondsFromNow, sha256 } from "../../conformance/artifacts.ts";
import type { Agent, JsonObject } from "../../conformance/client.ts";
import { didHappen, type Entry, mayHappen } from "../../histories/history.ts";
import type { Recorder } from "../../histories/recorder.ts";
import type { Random } from "../../seeds/random.ts";

/** The shortest take: what a taker forgets lapses after this time. */
const TAKE_SECONDS = 30;
const TASKS_OF_A_FILE = 100;

export interface Crowd {
  readonly recorder: Recorder;
  readonly planner: Agent;
  readonly workers: readonly Agent[];
  readonly tag: string;
}

interface Task {
  readonly take_id: string;
  readonly grant_id: string;
  readonly attempt: number;
}

/** What all takers know together. */
export class Outcomes {
  /** Grants whose tasks are done. */
  readonly done = new Set<string>();
  /** Grants whose takers forgot them once, as if they had died. */
  readonly forgotten = new Set<string>();
  /** The successful takes of each taker. */
  readonly takes: Entry[][] = [];
}

/** Repeats a request until the service has decided. */
async function settled(ask: () => Promise<Entry>): Promise<Entry> {
  for (;;) {
    const entry = await ask();
    if (!mayHappen(entry) || didHappen(entry)) return entry;
    await pause(100);
  }
}

/** Hands over this many tasks, one after the other. */
export async function handOver({ recorder, planner, tag }: Crowd, count: number): Promise<void> {
  const ask = (path: string, request: JsonObject) =>
    settled(() =>
      recorder.ask({
        operation: `/agent-artifacts${path}`,
        agent: planner.id,
        as: planner,
        request,
      })
    );
  let artifact_id = "";
  for (let given = 0; given < count; given += 1) {
    if (given % TASKS_OF_A_FILE === 0) {
      const key = `job-${given}`;
      const file = { key, mime: "text/plain", size: key.length, ttl_days: 1 };
      const registered = await ask("/register", { agent_id: planner.id, ...file });
      artifact_id = String(registered.answer!["artifact_id"]);
      await recorder.upload(String(registered.answer!["upload_url"]), key);
      await ask("/commit", { artifact_id, sha256: sha256(key) });
    }
    await ask("/grant", {
      artifact_id,
      to_tag: tag,
      deliver: "one",
      max_attempts: 100,
      expires_at: secondsFromNow(3600),
      idempotency_key: `task-${given}`,
    });
  }
}

/** Takes tasks until all are done. Finishes most, fails some, and forgets some. */
export async function takeUntilDone(
  { recorder }: Crowd,
  worker: Agent,
  { outcomes, count, random }: {
    readonly outcomes: Outcomes;
    readonly count: number;
    readonly random: Random;
  },
): Promise<void> {
  const ask = (what: string, request: JsonObject) =>
    recorder.ask({
      operation: `/agent-artifacts/inbox/${what}`,
      agent: worker.id,
      as: worker,
      request,
    });
  const own: Entry[] = [];
  outcomes.takes.push(own);
  while (outcomes.done.size < count) {
    const max = 1 + random.below(3);
    const taken = await ask("take", { max, seconds: TAKE_SECONDS, wait_seconds: 3 });
    if (!didHappen(taken)) {
      await pause(random.below(200));
      continue;
    }
    own.push(taken);
    for (const { take_id, grant_id, attempt } of taken.answer!["tasks"] as unknown as Task[]) {
      if (attempt === 1 && random.isOneIn(10)) {
        outcomes.forgotten.add(grant_id);
      } else if (random.isOneIn(8)) {
        await settled(() => ask("fail", { take_id, reason: "Again.", retry_after_seconds: 0 }));
      } else {
        const done = await settled(() => ask("done", { take_id }));
        if (didHappen(done)) outcomes.done.add(grant_id);
      }
    }
  }
}

/**
 * The takes of one taker that follow each other and are out of order. A request without an answer
 * may have held an older task for a while, so takes beside one are left out.
 */
export function outOfOrder(history: readonly Entry[], outcomes: Outcomes) {
  const troubled = history.filter((entry) => !didHappen(entry) && mayHappen(entry));
  const fresh = ({ answer }: Entry) =>
    (answer!["tasks"] as unknown as { attempt: number; granted_at: string }[])
      .filter(({ attempt }) => attempt === 1)
      .map(({ granted_at }) => granted_at);
  const pairs = outcomes.takes.flatMap((takes) => {
    const some = takes.filter((take) => fresh(take).length > 0);
    return some.slice(1).map((second, index) => [some[index]!, second] as const);
  }).filter(([first, second]) =>
    !troubled.some(({ start, end }) => start < second.end && end + 3_000 > first.start)
  );
  const wrong = pairs.filter(([first, second]) => fresh(first).at(-1)! > fresh(second)[0]!);
  return { compared: pairs.length, wrong };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

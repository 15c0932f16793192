/** How soon after a change its waiters are told, with many waiters in one process. */
import { Agent, request } from "undici";
import { agentKeyOf, artifactIdOf, EPOCH, peerIdOf } from "../fill/cast.ts";
import { quantile } from "../load/timing.ts";
import type { FilledStack } from "./operations.ts";

/** Waiters of each kind. One function serves the inboxes, the other one the heartbeats. */
const WAITERS = 500;
/** How many requests of each agent wait at once. */
const WAITS_OF_EACH = 10;
const WAIT_SECONDS = 50;
/** Random pauses up to this long spread the changes over all moments between two polls. */
const MOST_MILLISECONDS_BETWEEN = 1_000;

/** What the contract promises. */
export const MAX_P99_MILLISECONDS = 1_500;

/** From the answer to the change until the answer to a waiter, in milliseconds. */
export interface WaitingTimes {
  readonly what: string;
  readonly told: number;
  readonly p50: number;
  readonly p99: number;
}

interface Kind {
  readonly what: string;
  readonly path: string;
  /** The next wait, from the last answer. The first call (`null`) is answered at once. */
  readonly next: (last: WaitAnswer | null) => object;
  /** Whether an answer has news. A wait may also end without news. */
  readonly hasNews: (answer: WaitAnswer, last: WaitAnswer) => boolean;
  /** The operator's request that changes something for one waiting agent only. */
  readonly change: (agentId: string, number: number) => { path: string; body: object };
}

interface WaitAnswer {
  readonly latest?: string;
  readonly grants?: readonly unknown[];
  readonly config_version?: number;
  readonly inbox?: { readonly latest: string };
  readonly events?: { readonly latest: string };
}

/** Positions before the first entry. */
const FIRST_POSITIONS = { inbox_after: `${EPOCH}-3:3:`, events_after: `${EPOCH}-3.0` };

/**
 * A rule from an agent that does not wait. Every new port changes the configuration of the agent
 * that may be reached.
 */
function newRule(to_agent: string, port: number) {
  const from_agent = peerIdOf(WAITERS / WAITS_OF_EACH);
  return { path: "/agent-mesh/acl/put", body: { from_agent, to_agent, port, proto: "tcp" } };
}

const KINDS: readonly Kind[] = [
  {
    what: "a grant, in an inbox",
    path: "/agent-artifacts/inbox",
    next: (last) =>
      last === null ? { limit: 1 } : { after: last.latest, wait_seconds: WAIT_SECONDS, limit: 1 },
    hasNews: ({ grants }) => grants!.length > 0,
    change: (agentId, number) => ({
      path: "/agent-artifacts/grant",
      body: {
        artifact_id: artifactIdOf(10 * (number % 10)),
        to_agent: agentId,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      },
    }),
  },
  {
    what: "a rule, in a heartbeat",
    path: "/agent-mesh/peer/heartbeat",
    next: (last) =>
      last === null ? {} : { config_version: last.config_version, wait_seconds: WAIT_SECONDS },
    hasNews: ({ config_version }, last) => config_version !== last.config_version,
    change: (agentId, number) => newRule(agentId, 20_000 + number),
  },
  {
    what: "a rule, with /wait for everything",
    path: "/agent-artifacts/wait",
    next: (last) =>
      last === null ? FIRST_POSITIONS : {
        config_version: last.config_version,
        inbox_after: last.inbox!.latest,
        events_after: last.events!.latest,
        wait_seconds: WAIT_SECONDS,
      },
    hasNews: ({ config_version }, last) => config_version !== last.config_version,
    change: (agentId, number) => newRule(agentId, 40_000 + number),
  },
];

/** What is measured, in order. */
export const WAITS: readonly string[] = KINDS.map(({ what }) => what);

export function describeWaiting({ what, told, p50, p99 }: WaitingTimes): string {
  return `${
    p99 <= MAX_P99_MILLISECONDS ? "met        " : "falls short"
  }  ${what}, ${WAITERS} waiters: ` +
    `told ${told} times, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms ` +
    `(goal ≤ ${MAX_P99_MILLISECONDS})`;
}

/** Lets 500 requests wait. Makes changes at random moments, for one agent after the other. */
export async function measureWaiting(
  filled: FilledStack,
  { changes }: { readonly changes: number },
): Promise<WaitingTimes[]> {
  const measured: WaitingTimes[] = [];
  for (const kind of KINDS) measured.push(await measureKind(filled, kind, changes));
  return measured;
}

async function measureKind(
  { stack }: FilledStack,
  kind: Kind,
  changes: number,
): Promise<WaitingTimes> {
  const dispatcher = new Agent({ connections: WAITERS + 10, pipelining: 1 });
  const over = new AbortController();
  const agents = Array.from({ length: WAITERS / WAITS_OF_EACH }, (_, index) => peerIdOf(index));
  const changedAt = new Map<string, number>();
  const times: number[] = [];
  let waiting = 0;

  async function post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: object,
  ): Promise<WaitAnswer> {
    const answer = await request(`${stack.url}/functions/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      dispatcher,
      signal: over.signal,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  }

  async function wait(agentId: string): Promise<void> {
    const headers = { authorization: `Bearer ${agentKeyOf(agentId)}` };
    let last = await post(kind.path, headers, kind.next(null));
    while (!over.signal.aborted) {
      waiting++;
      const answer = await post(kind.path, headers, kind.next(last)).finally(() => waiting--);
      const changed = changedAt.get(agentId);
      if (changed !== undefined && kind.hasNews(answer, last)) {
        times.push(performance.now() - changed);
      }
      last = answer;
    }
  }

  const waits = agents.flatMap((agentId) =>
    Array.from(
      { length: WAITS_OF_EACH },
      () =>
        wait(agentId).catch((error) => {
          if (!over.signal.aborted) throw error;
        }),
    )
  );
  for (let number = 0; number < changes; number++) {
    await pause(Math.random() * MOST_MILLISECONDS_BETWEEN);
    await until(() => waiting === WAITERS);
    const agentId = agents[number % agents.length]!;
    const { path, body } = kind.change(agentId, number);
    // A waiter may get its answer before the caller of the change does. That counts as 0 ms.
    changedAt.set(agentId, Infinity);
    await post(path, { apikey: stack.secretKey }, body);
    changedAt.set(agentId, performance.now());
    await until(() => times.length === (number + 1) * WAITS_OF_EACH);
    changedAt.delete(agentId);
  }
  over.abort();
  await Promise.all(waits);
  await dispatcher.close();
  const fromZero = times.map((time) => Math.max(0, time));
  return {
    what: kind.what,
    told: times.length,
    p50: quantile(fromZero, 0.5),
    p99: quantile(fromZero, 0.99),
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(5);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * How many waiting requests one process holds, how much memory they take, and how soon they are
 * told of a change.
 */
import { readFile } from "node:fs/promises";
import { Agent, request } from "undici";
import { agentKeyOf, artifactIdOf, peerIdOf } from "../fill/cast.ts";
import { quantile } from "../load/timing.ts";
import type { FilledStack } from "../parts/operations.ts";

const WAIT_SECONDS = 50;
/** How many requests begin at once. As many more begin every tenth of a second. */
const BEGIN_TOGETHER = 25;
const CONNECT_MILLISECONDS = 60_000;
/** Time for every request to be sent once, and for the first refused ones to be repeated. */
const SETTLING_MILLISECONDS = 20_000;
const MILLISECONDS_BETWEEN_CHANGES = 500;
/** How long after the last change a waiter may still be told of it. */
const TELLING_MILLISECONDS = 20_000;

/** A request without an answer after this time counts as held: a refusal comes at once. */
const HELD_AFTER_MILLISECONDS = 5_000;

const MAX_P99_MILLISECONDS = 3_000;
const MAX_MEBIBYTES = 300;

export interface ManyWaits {
  readonly waits: number;
  readonly keys: number;
  /** Requests that the service held when the changes began. */
  readonly held: number;
  readonly refused: number;
  /** Answered early and without news, as when an agent key waits too often. */
  readonly dismissed: number;
  /** Connections that ended without an answer. */
  readonly reset: number;
  /** By status or, without an answer, by the code of the error. */
  readonly otherAnswers: Readonly<Record<string, number>>;
  /**
   * How soon requests that were held when a change was made were told of it, in milliseconds after
   * the answer to the change.
   */
  readonly told: { readonly count: number; readonly p50: number; readonly p99: number };
  /** Requests that were held, not dismissed, and not told of the change. */
  readonly missed: number;
  /**
   * The function's peak memory. `mebibytesBefore` is its memory before the first request waited.
   */
  readonly mebibytes: number;
  readonly mebibytesBefore: number;
}

interface Waiting {
  readonly sentAt: number;
  toldAfter: number | null;
  isDismissed: boolean;
}

/**
 * Lets this many requests wait in inboxes, evenly over the agent keys, and makes `changes` grants.
 */
export async function measureManyWaits(
  { stack }: FilledStack,
  { waits, keys, changes }: {
    readonly waits: number;
    readonly keys: number;
    readonly changes: number;
  },
): Promise<ManyWaits> {
  const dispatcher = new Agent({
    connections: waits + 10,
    pipelining: 1,
    headersTimeout: 0,
    connect: { timeout: CONNECT_MILLISECONDS },
  });
  const over = new AbortController();
  const agents = Array.from({ length: keys }, (_, index) => peerIdOf(index));
  const underWay = new Map<string, Set<Waiting>>(agents.map((id) => [id, new Set()]));
  const changedAt = new Map<string, number>();
  const otherAnswers: Record<string, number> = {};
  let [refused, dismissed, reset] = [0, 0, 0];

  async function ask(agentId: string, body: object) {
    const answer = await request(`${stack.url}/functions/v1/agent-artifacts/inbox`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${agentKeyOf(agentId)}`,
      },
      body: JSON.stringify({ limit: 1, ...body }),
      dispatcher,
      signal: over.signal,
    });
    const { grants, latest } = JSON.parse(await answer.body.text());
    const retryAfter = Number(answer.headers["retry-after"] ?? 0);
    return { status: answer.statusCode, hasNews: grants?.length > 0, latest, retryAfter };
  }

  /** Waits as a client does: after a refusal, it first asks without waiting, then waits again. */
  async function follow(agentId: string): Promise<void> {
    let after: string | undefined;
    let seconds = 0;
    while (!over.signal.aborted) {
      const sentAt = performance.now();
      const waiting: Waiting = { sentAt, toldAfter: null, isDismissed: false };
      if (seconds > 0) underWay.get(agentId)!.add(waiting);
      const answer = await ask(agentId, after === undefined ? {} : { after, wait_seconds: seconds })
        .catch(({ code }) => {
          if (!over.signal.aborted) otherAnswers[code] = (otherAnswers[code] ?? 0) + 1;
          return null;
        })
        .finally(() => underWay.get(agentId)!.delete(waiting));
      if (over.signal.aborted) return;
      if (answer === null) {
        reset++;
        await pause(1000);
      } else if (answer.status === 503 || answer.status === 429) {
        refused++;
        seconds = 0;
        await pause(answer.retryAfter * 1000);
      } else if (answer.status === 200) {
        const changed = changedAt.get(agentId);
        if (answer.hasNews && changed !== undefined) {
          waiting.toldAfter = Math.max(0, performance.now() - changed);
        }
        const isEarly = performance.now() - sentAt < (WAIT_SECONDS - 1) * 1000;
        if (seconds > 0 && !answer.hasNews && isEarly) {
          dismissed++;
          waiting.isDismissed = true;
          await pause(1000 * (1 + Math.random()));
        }
        after = answer.latest;
        seconds = WAIT_SECONDS;
      } else {
        otherAnswers[answer.status] = (otherAnswers[answer.status] ?? 0) + 1;
        await pause(1000);
      }
    }
  }

  const pid = stack.pids["agent-artifacts"]!;
  const mebibytesBefore = await mebibytesOf(pid, "VmRSS");
  const following: Promise<void>[] = [];
  while (following.length < waits) {
    following.push(follow(agents[following.length % keys]!));
    if (following.length % BEGIN_TOGETHER === 0) await pause(100);
  }
  await pause(SETTLING_MILLISECONDS);
  const held = agents.flatMap(heldOf).length;
  const asked: Waiting[] = [];
  for (let number = 0; number < changes; number++) {
    const agentId = agents[Math.floor(number * keys / changes)]!;
    changedAt.set(agentId, Infinity);
    asked.push(...heldOf(agentId));
    while (!await grant(number, agentId).catch(() => false)) reset++;
    changedAt.set(agentId, performance.now());
    await pause(MILLISECONDS_BETWEEN_CHANGES);
  }
  await pause(TELLING_MILLISECONDS);
  over.abort();
  await Promise.all(following);
  await dispatcher.close();

  function heldOf(agentId: string): Waiting[] {
    const heldSince = performance.now() - HELD_AFTER_MILLISECONDS;
    return [...underWay.get(agentId)!].filter(({ sentAt }) => sentAt < heldSince);
  }

  /** Returns false or throws if the call was not answered. */
  async function grant(number: number, to_agent: string): Promise<boolean> {
    const answer = await request(`${stack.url}/functions/v1/agent-artifacts/grant`, {
      method: "POST",
      headers: { "content-type": "application/json", apikey: stack.secretKey },
      body: JSON.stringify({
        artifact_id: artifactIdOf(10 * (number % 10)),
        to_agent,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      }),
      dispatcher,
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  }

  const told = asked.flatMap(({ toldAfter }) => toldAfter === null ? [] : [toldAfter]);
  return {
    waits,
    keys,
    held,
    refused,
    dismissed,
    reset,
    otherAnswers,
    told: { count: told.length, p50: quantile(told, 0.5), p99: quantile(told, 0.99) },
    missed: asked.filter(({ toldAfter, isDismissed }) => toldAfter === null && !isDismissed).length,
    mebibytes: await mebibytesOf(pid, "VmHWM"),
    mebibytesBefore,
  };
}

export function describeManyWaits(measured: ManyWaits): string[] {
  const { waits, keys, told, mebibytes, mebibytesBefore, reset, missed, ...counts } = measured;
  const isMet = told.p99 <= MAX_P99_MILLISECONDS && mebibytes <= MAX_MEBIBYTES && reset === 0 &&
    missed === 0;
  return [
    `${isMet ? "met        " : "falls short"}  ${waits} waits over ${keys} keys: told ` +
    `${told.count} times, p50 ${told.p50?.toFixed(0)} ms, p99 ${told.p99?.toFixed(0)} ms (goal ≤ ` +
    `${MAX_P99_MILLISECONDS}), ${missed} not told, ${reset} reset, ${mebibytes.toFixed(0)} MiB ` +
    `(goal ≤ ${MAX_MEBIBYTES}; ${mebibytesBefore.toFixed(0)} before); ${JSON.stringify(counts)}`,
  ];
}

/** A field of proc_pid_status(5), which is in kB. */
async function mebibytesOf(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)![1]) / 1024;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

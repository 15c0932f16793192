import type { MeshAnswer, MeshRequest } from "../contract/types.ts";
import { AgentError } from "../errors/agent_error.ts";
import { abortable } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause } from "../http/retries.ts";
import { postAndWait, restAfterWait } from "./waiting.ts";

type Answer = MeshAnswer<"/wait">;
/** The positions that one request can wait after, by the fields of the operation. */
type Positions = Required<Pick<MeshRequest<"/wait">, Field>>;
type Field = "config_version" | "inbox_after" | "events_after";

type Report = Partial<MeshRequest<"/wait">>;

export interface WaitOptions extends CallOptions {
  /**
   * Called before each request, and returns further fields for it. If it throws, or the service
   * refuses those fields, only this wait fails.
   */
  readonly report?: () => Promise<Report>;
}

interface Waiter {
  readonly connection: Connection;
  readonly options: WaitOptions;
  position: Positions[Field];
  readonly resolve: (isTold: boolean) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Several waits often begin, or get news, at the same time. After this pause, they share a request.
 */
const REGROUPING_MILLISECONDS = 100;

/** The requests that wait now, of all callers. */
const held: HeldRequest[] = [];

/**
 * Resolves with true when something is newer than a position. All waits of one caller, on both
 * functions, share one held request. Resolves with false if the deployment lacks /wait: then wait
 * in another way.
 */
export function waitForNews<Its extends Field>(
  connection: Connection,
  field: Its,
  position: Positions[Its],
  options: WaitOptions,
): Promise<boolean> {
  if (!connection.hasWait) return Promise.resolve(false);
  const signal = connection.signalOf(options);
  if (signal?.aborted) return Promise.reject(signal.reason);
  const own = held.find((request) => request.hasRoom(connection, field)) ??
    new HeldRequest();
  return new Promise((resolve, reject) => {
    const onAbort = () => own.leave(field, signal!.reason);
    const settle = <Value>(end: (value: Value) => void) => (value: Value) => {
      signal?.removeEventListener("abort", onAbort);
      end(value);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const settled = { resolve: settle(resolve), reject: settle(reject) };
    own.join(field, { connection, options, position, ...settled });
  });
}

/** One request to /wait at a time, for at most one waiter of each field. */
class HeldRequest {
  readonly #waiters = new Map<Field, Waiter>();
  /** Aborts the current request, so that another one replaces it. */
  #underWay = new AbortController();
  #isReporting = false;

  hasRoom({ caller }: Connection, field: Field): boolean {
    const [first] = this.#waiters.values();
    return first !== undefined && !this.#waiters.has(field) &&
      first.connection.caller.every((value, index) => value === caller[index]);
  }

  join(field: Field, waiter: Waiter): void {
    this.#waiters.set(field, waiter);
    this.#underWay.abort();
    if (this.#waiters.size > 1) return;
    held.push(this);
    void this.#run();
  }

  /** Rejects one wait with a reason. */
  leave(field: Field, reason: unknown): void {
    this.#take(field)?.reject(reason);
    // If reports are being read, start over: the other waits must not wait for this one's report.
    if (this.#waiters.size === 0 || this.#isReporting) this.#underWay.abort();
  }

  async #run(): Promise<void> {
    await pause(REGROUPING_MILLISECONDS);
    while (this.#waiters.size > 0) {
      this.#underWay = new AbortController();
      const { signal } = this.#underWay;
      try {
        if (await this.#ask(signal)) await pause(REGROUPING_MILLISECONDS);
      } catch (error) {
        if (!signal.aborted) this.#fail(error);
      }
    }
  }

  /** Sends one request. Resolves to whether any wait got news. */
  async #ask(signal: AbortSignal): Promise<boolean> {
    const reports = await this.#reports(signal);
    const asked = [...this.#waiters];
    const [[, { connection, options }]] = asked as [(typeof asked)[0]];
    const { agentId } = connection;
    const sentAt = performance.now();
    const answer = await postAndWait<Answer>(connection, "/wait", {
      ...(agentId !== undefined && { agent_id: agentId }),
      ...reports,
      ...Object.fromEntries(
        asked.map(([field, { position }]) => [field, position]),
      ),
    }, { ...options, signal });
    const told = asked.filter(([field, waiter]) => {
      if (
        this.#waiters.get(field) !== waiter || !moveOn(field, waiter, answer)
      ) return false;
      this.#take(field)?.resolve(true);
      return true;
    });
    if (told.length === 0) {
      await restAfterWait(sentAt, connection, { ...options, signal });
    }
    return told.length > 0;
  }

  /** Reads the reports of all waits. Rejects when another request is to be sent. */
  async #reports(signal: AbortSignal): Promise<Report> {
    const read = async (field: Field, waiter: Waiter): Promise<Report | undefined> => {
      try {
        return await waiter.options.report?.();
      } catch (error) {
        // A later wait for the same field may have taken its place: leave that alone.
        if (this.#waiters.get(field) === waiter) this.leave(field, error);
        return undefined;
      }
    };
    this.#isReporting = true;
    try {
      const all = Promise.all([...this.#waiters].map((waiter) => read(...waiter)));
      return Object.assign({}, ...await abortable(all, signal));
    } finally {
      this.#isReporting = false;
    }
  }

  #fail(error: unknown): void {
    const isLacking = error instanceof AgentError && error.code === "not_found";
    const reporting = [...this.#waiters].filter(([, { options }]) => options.report !== undefined);
    const isRefused = error instanceof AgentError && error.code === "invalid_request";
    const failed = isRefused && reporting.length > 0 ? reporting : [...this.#waiters];
    for (const [field, waiter] of failed) {
      this.#take(field);
      if (isLacking) {
        waiter.connection.hasWait = false;
        waiter.resolve(false);
      } else waiter.reject(error);
    }
  }

  #take(field: Field): Waiter | undefined {
    const waiter = this.#waiters.get(field);
    this.#waiters.delete(field);
    if (this.#waiters.size === 0 && held.includes(this)) {
      held.splice(held.indexOf(this), 1);
    }
    return waiter;
  }
}

/** Whether an answer has news for a waiter. If not, moves its position to the answer's. */
function moveOn(field: Field, waiter: Waiter, answer: Answer): boolean {
  if (field === "config_version") {
    return answer.config_version !== waiter.position;
  }
  const news = field === "inbox_after" ? answer.inbox : answer.events;
  if (news === undefined || news.changed) return true;
  waiter.position = news.latest;
  return false;
}

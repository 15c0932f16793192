import type { ArtifactsAnswer, ArtifactsRequest } from "../contract/types.ts";
import { invalidFields } from "../errors/agent_error.ts";
import { postAndWait, restAfterWait } from "../follow/waiting.ts";
import { abortable } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { withRetries } from "../http/retries.ts";
import { beforeEndingSignal } from "../platform/ending_signals.ts";
import { type GivenUp, Hold, takeIsOver } from "./hold.ts";
import { Task } from "./task.ts";
import { UnderWay } from "./under_way.ts";

export interface TasksOptions extends CallOptions {
  /** How many tasks may be under way at once. Default: 1. */
  readonly concurrency?: number;
  /** Only files whose names begin with this. */
  readonly prefix?: string;
  /** Only grants from this agent. */
  readonly fromAgent?: string;
  /** Keeps waiting for tasks. False: ends when none is left to take. Default: true. */
  readonly wait?: boolean;
  /**
   * How long the service keeps a task for this process after its last sign of life, from 30 to
   * 3,600 seconds. Renewals are such signs. Default: 300.
   */
  readonly takeSeconds?: number;
}

type Request = ArtifactsRequest<"/inbox/take">;
type Answer = ArtifactsAnswer<"/inbox/take">;

const DEFAULT_TAKE_SECONDS = 300;
/** How long a loop that goes on tries to give a task back. */
const PATIENT_SECONDS = 60;
/**
 * A request that waits may be cut while the service answers it: what it took then is held for the
 * shortest time, by nobody.
 */
const SHORTEST_TAKE_SECONDS = 30;

/**
 * Takes tasks one by one, each when the loop asks for it: no task is held that nobody works on. See
 * `tasks` of `AgentFiles`.
 */
export async function* takeTasks(
  connection: Connection,
  options: TasksOptions = {},
): AsyncGenerator<Task, void, undefined> {
  const { concurrency = 1, wait = true } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw invalidFields([{ path: "concurrency", message: "Must be a whole number from 1." }]);
  }
  const ending = new AbortController();
  const given = connection.signalOf(options);
  const signal = given === undefined ? ending.signal : AbortSignal.any([given, ending.signal]);
  signal.throwIfAborted();
  const underWay = new UnderWay();
  const source = new TaskSource(connection, options, { signal, underWay });
  const stop = () => underWay.end({ reason: signal.reason, isInterrupted: true });
  const onAbort = () => void stop();
  signal.addEventListener("abort", onAbort, { once: true });
  const stopListening = beforeEndingSignal(() => {
    ending.abort(new Error("The process ends."));
    return stop();
  });
  try {
    while (true) {
      await underWay.below(concurrency, signal);
      const taken = await source.takeNow() ?? (wait ? await source.waitForTask() : null);
      signal.throwIfAborted();
      if (taken !== null) {
        yield taken.task;
        signal.throwIfAborted();
        // The loop has gone on without an outcome, and nothing else works on the task.
        if (concurrency === 1) {
          await taken.hold.giveBack(loopIsOver(), { seconds: PATIENT_SECONDS });
        }
      } else if (!wait) {
        if (underWay.size === 0) return;
        // Each of these may fail, and wait again.
        await underWay.below(underWay.size, signal);
      }
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await underWay.end(loopIsOver());
    stopListening();
  }
}

/** The attempt counts: the end by an error cannot be told from one by `break`. */
function loopIsOver(): GivenUp {
  const reason = takeIsOver("The loop has left the task without an outcome, so it was given back.");
  return { reason, isInterrupted: false };
}

interface Taken {
  readonly task: Task;
  readonly hold: Hold;
}

/** Sends the requests that take tasks. */
class TaskSource {
  readonly #connection: Connection;
  readonly #options: TasksOptions;
  readonly #request: Request;
  readonly #signal: AbortSignal;
  readonly #underWay: UnderWay;
  readonly #unsignalled: Connection;
  readonly #seconds: number;

  constructor(
    connection: Connection,
    options: TasksOptions,
    { signal, underWay }: { readonly signal: AbortSignal; readonly underWay: UnderWay },
  ) {
    this.#connection = connection;
    this.#options = options;
    this.#signal = signal;
    this.#underWay = underWay;
    this.#unsignalled = connection.withoutSignal();
    this.#seconds = options.takeSeconds ?? DEFAULT_TAKE_SECONDS;
    this.#request = {
      ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
      ...(options.prefix !== undefined && { prefix: options.prefix }),
      ...(options.fromAgent !== undefined && { from_agent: options.fromAgent }),
    };
  }

  /**
   * Takes the oldest task, or null. An abort does not cut the request: what it took would be held
   * until the take lapses. Its answer is then given back.
   */
  async takeNow(): Promise<Taken | null> {
    const { retrySeconds = this.#connection.retrySeconds } = this.#options;
    return await withRetries(() => {
      this.#signal.throwIfAborted();
      const sentAt = performance.now();
      const taken = this.#unsignalled.post<Answer>("/inbox/take", {
        ...this.#request,
        seconds: this.#seconds,
      }, { retrySeconds: 0 }).then((answer) =>
        this.#takenOf(answer, sentAt + this.#seconds * 1000)
      );
      this.#underWay.expect(taken);
      return abortable(taken, this.#signal);
    }, { seconds: retrySeconds, signal: this.#signal, onRetry: this.#connection.onRetry });
  }

  /** Waits for a task, as long as one request can. */
  async waitForTask(): Promise<Taken | null> {
    const options = { ...this.#options, signal: this.#signal };
    const sentAt = performance.now();
    const request = { ...this.#request, seconds: SHORTEST_TAKE_SECONDS };
    const answer = await postAndWait<Answer>(this.#connection, "/inbox/take", request, options);
    const taken = this.#takenOf(answer, performance.now() + SHORTEST_TAKE_SECONDS * 1000);
    if (taken === null) {
      await restAfterWait(sentAt, this.#connection, options);
      return null;
    }
    return await taken.hold.renew().then(() => taken, () => null);
  }

  #takenOf({ tasks: [entry] }: Answer, lapsesAt: number): Taken | null {
    if (entry === undefined) return null;
    const take = { takeId: entry.take_id, seconds: this.#seconds, lapsesAt };
    const hold = new Hold(this.#unsignalled, take);
    this.#underWay.add(hold);
    return { task: new Task(entry, this.#unsignalled, hold), hold };
  }
}

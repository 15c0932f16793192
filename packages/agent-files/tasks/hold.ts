import type { ArtifactsRequest } from "../contract/types.ts";
import { AgentError } from "../errors/agent_error.ts";
import { abortable } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import { pause } from "../http/retries.ts";

/** A take is renewed after this part of its time, so that a failed renewal can be repeated. */
const RENEWED_AFTER = 1 / 3;
/** How long the last request about a take may take, at least. */
const LEAST_SECONDS = 5;
/** The errors after which the taker has nothing to do with the task any more. */
const LOST: readonly string[] = [
  "take_lapsed",
  "grant_revoked",
  "grant_expired",
  "artifact_expired",
];

const GIVEN_BACK = "The worker gave the task back.";

/** Why a task is given back. */
export interface GivenUp {
  readonly reason: unknown;
  /** Whether the worker is being stopped: then the take was no attempt. */
  readonly isInterrupted: boolean;
}

export interface Take {
  readonly takeId: string;
  /** For how many seconds each renewal holds the task. */
  readonly seconds: number;
  /** When the take lapses, by `performance.now()`. */
  readonly lapsesAt: number;
}

/** Holds one taken task: renews its take until the task has an outcome, or is lost. */
export class Hold {
  readonly #connection: Connection;
  readonly #take: Take;
  #lapsesAt: number;
  /** Aborted when another agent may have the task. */
  readonly #lost = new AbortController();
  /** Aborted when the take is over, for whatever reason. Ends the renewals. */
  readonly #over = new AbortController();
  /** The outcome that is being prepared or sent. */
  #outcome: Promise<unknown> | null = null;
  /** Whether the service may have recorded that outcome already. */
  #isSent = false;

  /** `connection` has no signal: a task is given back after an abort, too. */
  constructor(connection: Connection, take: Take) {
    this.#connection = connection;
    this.#take = take;
    this.#lapsesAt = take.lapsesAt;
    void this.#renewUntilOver();
  }

  /** Aborted, with the reason, when the task is lost or was given back. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborted once the task has an outcome, is lost, or was given back. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Renews the take now. Rejects if the task is lost. */
  async renew(): Promise<void> {
    const sentAt = performance.now();
    const left = Math.max(LEAST_SECONDS, (this.#lapsesAt - sentAt) / 1000);
    const signal = AbortSignal.any([this.over, AbortSignal.timeout(left * 1000)]);
    const { takeId: take_id, seconds } = this.#take;
    try {
      await this.#connection.post("/inbox/extend", { take_id, seconds }, {
        signal,
        retrySeconds: left,
      });
      this.#lapsesAt = sentAt + seconds * 1000;
    } catch (error) {
      // A take is also over for the service once its outcome is recorded.
      if (this.#isSent) await this.#settled();
      this.#lose(isTemporary(error) ? lapsed(error) : error);
      throw error;
    }
  }

  async #renewUntilOver(): Promise<void> {
    try {
      while (true) {
        await pause((this.#lapsesAt - performance.now()) * RENEWED_AFTER, this.over);
        await this.renew();
      }
    } catch {
      // It is over, or lost: `renew` has said so.
    }
  }

  /**
   * Prepares an outcome, and sends it. The take is renewed meanwhile, and is over afterwards. If
   * this fails, but the task is not lost, the take goes on. Throws `take_lapsed` if it is over.
   */
  async settle<Fields, Answer>(
    prepare: () => Promise<Fields>,
    send: (fields: Fields) => Promise<Answer>,
  ): Promise<Answer> {
    this.lost.throwIfAborted();
    if (this.over.aborted || this.#outcome !== null) {
      throw takeIsOver("The task already has an outcome.");
    }
    const outcome = prepare().then((fields) => {
      this.#isSent = true;
      return send(fields);
    });
    this.#outcome = outcome;
    try {
      const answer = await outcome;
      this.#over.abort();
      return answer;
    } catch (error) {
      if (error instanceof AgentError && LOST.includes(error.code)) this.#lose(error);
      throw error;
    } finally {
      this.#outcome = null;
      this.#isSent = false;
    }
  }

  /**
   * Gives the task back, unless it has an outcome. Waits for an outcome that is being prepared or
   * sent. Resolves when the service knows, or could not be told within `seconds`.
   */
  async giveBack(why: GivenUp, { seconds }: { readonly seconds: number }): Promise<void> {
    const signal = AbortSignal.timeout(seconds * 1000);
    await abortable(this.#settled(), signal).catch(() => {});
    if (!this.#lose(why.reason)) return;
    const request = givenBack(this.#take, why);
    await this.#connection.post("/inbox/fail", request, {
      signal,
      retrySeconds: seconds,
    }).catch(() => {});
  }

  /** Like `giveBack`, but at once: an outcome that is only being prepared is given up. */
  async giveBackAtOnce(why: GivenUp, options: { readonly seconds: number }): Promise<void> {
    if (this.#outcome !== null && !this.#isSent) this.#lost.abort(why.reason);
    await this.giveBack(why, options);
  }

  /** Ends the take without an outcome. Returns false if it was over. */
  #lose(reason: unknown): boolean {
    if (this.over.aborted) return false;
    this.#over.abort();
    this.#lost.abort(reason);
    return true;
  }

  async #settled(): Promise<void> {
    await this.#outcome?.catch(() => {});
  }
}

/** The request that gives a task back. It can be taken again at once. */
export function givenBack(
  { takeId }: Pick<Take, "takeId">,
  { isInterrupted }: Pick<GivenUp, "isInterrupted">,
): ArtifactsRequest<"/inbox/fail"> {
  return {
    take_id: takeId,
    reason: GIVEN_BACK,
    retry_after_seconds: 0,
    ...(isInterrupted && { interrupted: true }),
  };
}

/** The error of a take that ended here, and not by the service's answer. */
export function takeIsOver(message: string, cause?: unknown): AgentError {
  return new AgentError({ code: "take_lapsed", message, cause });
}

function lapsed(cause: unknown): AgentError {
  return takeIsOver("The take has lapsed, because it could not be renewed in time.", cause);
}

/** Whether the renewals failed until their time was up. */
function isTemporary(error: unknown): boolean {
  return !(error instanceof AgentError) || error.retryable;
}

import type { ArtifactsAnswer, ArtifactsRequest, TaskEntry } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { get, type GetOptions, type Got } from "../transfer/get.ts";
import { givenBack, type Hold } from "./hold.ts";
import { type DoneOptions, Reply } from "./reply.ts";

/** The most characters of a reason that the service keeps. */
const LONGEST_REASON = 500;

export interface FailOptions extends CallOptions {
  /** The pause before the next attempt, from 0 to 86,400 seconds. Default: grows with each. */
  readonly retryAfterSeconds?: number;
  /** Whether it cannot succeed, however often it is tried. Parks the task. Default: false. */
  readonly final?: boolean;
  /**
   * Whether the worker is being stopped, and the task is not the cause. The attempt does not count,
   * and the task can be taken again at once. Default: false.
   */
  readonly interrupted?: boolean;
}

type Failed = ArtifactsAnswer<"/inbox/fail">;

/**
 * A grant as work, which this process holds. Its take is renewed until `done`, `fail` or `release`
 * is called, or until the loop that yielded it ends.
 */
export class Task {
  /** The grant. It stays the same in every attempt. */
  readonly id: string;
  /** The file's name. */
  readonly key: string;
  /** What the giver says about it; null: nothing. */
  readonly note: string | null;
  /** The agent that gave it. */
  readonly from: string;
  /** What the owner registered beside the file. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Counts the takes of the task, from 1. */
  readonly attempt: number;
  /** Everything that the service says about it, by the names of the contract. */
  readonly entry: TaskEntry;
  readonly #connection: Connection;
  readonly #hold: Hold;
  readonly #reply: Reply;

  constructor(entry: TaskEntry, connection: Connection, hold: Hold) {
    this.entry = entry;
    this.id = entry.grant_id;
    this.key = entry.key;
    this.note = entry.note ?? null;
    this.from = entry.from_agent;
    this.metadata = entry.metadata ?? {};
    this.attempt = entry.attempt ?? 1;
    this.#connection = connection;
    this.#hold = hold;
    this.#reply = new Reply(connection, entry.key);
  }

  /**
   * Aborted when the work is no longer wanted: the take lapsed, the grant ended, or the loop ended.
   * Another agent may have the task then.
   */
  get signal(): AbortSignal {
    return this.#hold.lost;
  }

  /** Downloads the file, as `get` of `AgentFiles` does. */
  file(options: GetOptions = {}): Promise<Got> {
    const signal = this.#until(options);
    const target = { artifactId: this.entry.artifact_id };
    return get(this.#connection, target, { ...options, signal });
  }

  /** The verified bytes of the file. */
  async bytes(options: GetOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = await this.file(options);
    const bytes = await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
    return new Uint8Array(bytes);
  }

  /** The file as UTF-8 text. */
  async text(options: GetOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.bytes(options));
  }

  /** The file as JSON. Throws SyntaxError. */
  async json(options: GetOptions = {}): Promise<unknown> {
    return JSON.parse(await this.text(options));
  }

  /**
   * Records that the task is done. With `reply`, the giver gets access to this file, in the same
   * transaction. Throws `take_lapsed` if the task is not held any more: the reply is then deleted.
   */
  async done(options: DoneOptions = {}): Promise<ArtifactsAnswer<"/inbox/done">> {
    const { take_id } = this.entry;
    try {
      return await this.#hold.settle(
        () => this.#reply.fields(options, this.#until(options)),
        (fields) =>
          this.#reply.whileSent(
            this.#connection.post("/inbox/done", { take_id, ...fields }, options),
          ),
      );
    } catch (error) {
      if (this.#hold.lost.aborted) await this.#reply.discard();
      throw error;
    }
  }

  /**
   * Records that this attempt failed. The task waits for the next one, or is parked after the last.
   * The reason is cut to 500 characters; that of an Error is its message. Resolves to null if the
   * task is not held any more: then there is nothing to record.
   */
  async fail(
    reason: unknown,
    { retryAfterSeconds, final, interrupted, ...options }: FailOptions = {},
  ): Promise<Failed | null> {
    return await this.#giveUp({
      take_id: this.entry.take_id,
      reason: sentenceOf(reason),
      ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
      ...(final !== undefined && { final }),
      ...(interrupted !== undefined && { interrupted }),
    }, options);
  }

  /**
   * Gives the task back: it can be taken again at once. This was an attempt, too: after the last
   * one, the task is parked. Resolves to null if the task is not held any more.
   */
  async release(options: CallOptions = {}): Promise<Failed | null> {
    const request = givenBack({ takeId: this.entry.take_id }, { isInterrupted: false });
    return await this.#giveUp(request, options);
  }

  async #giveUp(
    request: ArtifactsRequest<"/inbox/fail">,
    options: CallOptions,
  ): Promise<Failed | null> {
    try {
      return await this.#hold.settle(
        () => Promise.resolve(request),
        () => this.#connection.post<Failed>("/inbox/fail", request, options),
      );
    } catch (error) {
      if (!this.#hold.over.aborted) throw error;
      return null;
    } finally {
      if (this.#hold.over.aborted) await this.#reply.discard();
    }
  }

  #until({ signal }: CallOptions): AbortSignal {
    return signal === undefined ? this.signal : AbortSignal.any([this.signal, signal]);
  }
}

/** A reason that the service accepts. */
function sentenceOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message || reason.name : String(reason);
  // After the cut, because that may halve a character.
  const kept = text.slice(0, LONGEST_REASON).replaceAll(/[\0\p{Cs}]/gu, "\ufffd");
  return kept === "" ? "No reason was given." : kept;
}

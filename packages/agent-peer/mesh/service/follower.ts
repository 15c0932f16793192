import {
  AgentError,
  type Connection,
  type MeshAnswer,
  type MeshConfiguration,
  type MeshEvent,
  postAndWait,
  restAfterWait,
  type SentPath,
} from "../../service.ts";
import { pause } from "../../platform.ts";
import { NamedPaths } from "./named_paths.ts";

type News = MeshAnswer<"/wait">;
type Events = MeshAnswer<"/events">;

export interface FollowerHooks {
  /** Applies a configuration. */
  readonly apply: (configuration: MeshConfiguration) => Promise<void>;
  readonly paths: () => readonly SentPath[];
  /** Registers this agent's endpoints: at the start, and after the service was restored. */
  readonly register: () => Promise<void>;
  /**
   * Called with events of this agent or of others. If it rejects, `run` rejects with that error.
   */
  readonly onEvents: (events: readonly MeshEvent[]) => Promise<void>;
}

/** After these errors, the agent has no place in the mesh any more. */
const FATAL_CODES: readonly string[] = [
  "unauthenticated",
  "superseded",
  "forbidden",
  "peer_not_found",
];

/** The pause after an error that a retry may not have. */
const PAUSE_MS = 5000;

const LEAST_MS = 1000;

/** Keeps an agent's configuration up to date. Sends its heartbeats. */
export class Follower {
  readonly #connection: Connection;
  readonly #hooks: FollowerHooks;
  readonly #signal: AbortSignal;
  readonly #named = new NamedPaths();
  #heartbeatSeconds = 30;
  #version: number | undefined;
  /**
   * The position of the last event that was read. Undefined before `start`, and after a restore.
   */
  #position: string | undefined;
  #underWay: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  #held = new AbortController();
  #fetchedAt = -Infinity;
  #soon: Promise<void> | null = null;

  constructor(connection: Connection, hooks: FollowerHooks, signal: AbortSignal) {
    this.#connection = connection;
    this.#hooks = hooks;
    this.#signal = signal;
  }

  /**
   * Registers, and applies the current configuration. `run` misses nothing that happens after that.
   */
  async start(): Promise<void> {
    // Get the position first: another process may register this agent right after this one.
    const { latest } = await this.#post<Events>("/events", { limit: 1 });
    await this.#hooks.register();
    this.#position = latest;
    await this.refresh();
  }

  /** Applies each new configuration. Rejects with an error that no retry can fix. */
  async run(): Promise<never> {
    while (true) {
      try {
        await this.#wait();
      } catch (error) {
        this.#signal.throwIfAborted();
        await this.#survive(error);
      }
    }
  }

  /** Fetches and applies the configuration as it is now, not as it was earlier. */
  refresh(): Promise<void> {
    // A fetch that is under way may have read an older state.
    return this.#queued ??= this.#underWay.then(() => {
      this.#queued = null;
      const fetched = this.#fetch();
      this.#underWay = fetched.catch(() => {});
      return fetched;
    });
  }

  /** Like `refresh`, but at most once a second, for calls that others can cause. */
  refreshSoon(): Promise<void> {
    return this.#soon ??= this.#refreshSoon().finally(() => this.#soon = null);
  }

  async #refreshSoon(): Promise<void> {
    const wait = this.#fetchedAt + LEAST_MS - performance.now();
    if (wait > 0) await pause(wait, this.#signal);
    await this.refresh();
  }

  /** Replaces the held request by a new one, for example after a suspension. */
  askAgain(): void {
    this.#held.abort();
  }

  async #wait(): Promise<void> {
    if (this.#position === undefined) await this.start();
    this.#held = new AbortController();
    const held = this.#held.signal;
    const sentAt = performance.now();
    const signal = AbortSignal.any([this.#signal, held]);
    const unlessHeld = (error: unknown): null => {
      if (held.aborted && !this.#signal.aborted) return null;
      throw error;
    };
    const paths = this.#hooks.paths();
    const longestWait = this.#named.longestWait(paths.length, this.#heartbeatSeconds);
    const news = await postAndWait<News>(this.#connection, "/wait", {
      ...this.#self(),
      config_version: this.#version,
      events_after: this.#position,
      paths: this.#named.next(paths),
    }, { signal, longestWait }).catch(unlessHeld);
    if (news === null) return;
    this.#heartbeatSeconds = news.heartbeat_interval_seconds;
    const isNew = news.config_version !== this.#version;
    const hasEvents = news.events?.changed === true;
    if (hasEvents) await this.#readEvents();
    else this.#position = news.events?.latest ?? this.#position;
    if (isNew || hasEvents) await this.refresh();
    else await restAfterWait(sentAt, this.#connection, { signal }).catch(unlessHeld);
  }

  async #readEvents(): Promise<void> {
    let page: Events;
    do {
      page = await this.#post<Events>("/events", { after: this.#position, limit: 1000 });
      await this.#hooks.onEvents(page.events);
      this.#position = page.latest;
    } while (page.more);
  }

  async #fetch(): Promise<void> {
    this.#fetchedAt = performance.now();
    const configuration = await this.#post<MeshConfiguration>("/wg_config", { format: "json" });
    await this.#hooks.apply(configuration);
    this.#version = configuration.config_version;
  }

  /** Throws the error if no retry can fix it. */
  async #survive(error: unknown): Promise<void> {
    if (!(error instanceof AgentError) || FATAL_CODES.includes(error.code)) throw error;
    if (error.code === "position_expired") this.#position = undefined;
    else await pause(PAUSE_MS, this.#signal);
  }

  #post<Answer>(path: string, body: object): Promise<Answer> {
    const options = { signal: this.#signal };
    return this.#connection.post<Answer>(path, { ...this.#self(), ...body }, options);
  }

  #self(): { readonly agent_id?: string } {
    const { agentId } = this.#connection;
    return agentId === undefined ? {} : { agent_id: agentId };
  }
}

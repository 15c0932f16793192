import { AgentError, type Connection, type MeshConfiguration } from "../service.ts";
import { type Network, parseNetwork } from "../wireguard/routing/networks.ts";
import type { RelayAnswer } from "../paths/paths.ts";

type MeshPeer = MeshConfiguration["peers"][number];

/** In milliseconds: a request that takes longer is given up, and sent again later. */
const ANSWER = 10_000;
/**
 * In milliseconds: the pause between requests while a peer without a path may register new
 * endpoints. It doubles each time.
 */
const ASK_AGAIN = { first: 10_000, last: 600_000 };

/** The requests to the service. The agent sends the heartbeats. */
export class PathService {
  readonly #connection: Connection;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  configuration(): Promise<MeshConfiguration> {
    return this.#post<MeshConfiguration>("/wg_config", { format: "json" });
  }

  /** Null if the operator has set no relay. */
  async relay(): Promise<RelayAnswer | null> {
    try {
      return await this.#post<RelayAnswer>("/relay", {});
    } catch (error) {
      if (error instanceof AgentError && error.code === "misconfigured") return null;
      throw error;
    }
  }

  #post<Answer>(path: string, body: object): Promise<Answer> {
    const { agentId } = this.#connection;
    const self = agentId === undefined ? {} : { agent_id: agentId };
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(ANSWER)]);
    const options = { signal, retrySeconds: 0 };
    return this.#connection.post<Answer>(path, { ...self, ...body }, options);
  }
}

export interface ConfigurationOptions {
  readonly service: Pick<PathService, "configuration">;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Called after each answer with null, or with the error. */
  readonly onAnswer: (error: unknown) => void;
}

/** The newest known configuration. It stays known when the service is unavailable. */
export class KnownConfiguration {
  readonly #options: ConfigurationOptions;
  #peers: readonly MeshPeer[] = [];
  #inside: readonly Network[] = [];
  #asking: Promise<void> | null = null;
  #askedAt = -Infinity;
  #askedVersion: string | null = null;
  #hasFailed = false;
  #wanting = "";
  #pause = ASK_AGAIN.first;

  constructor(options: ConfigurationOptions) {
    this.#options = options;
  }

  get peers(): readonly MeshPeer[] {
    return this.#peers;
  }

  /** The mesh's own networks. */
  get inside(): readonly Network[] {
    return this.#inside;
  }

  /**
   * Asks at once if `version` is new, and from time to time while peers are `wanting` a path (their
   * names; empty: none). Returns a promise of the answer, or null if no request is under way.
   */
  refresh(version: string, wanting: string): Promise<void> | null {
    const { now, onAnswer } = this.#options;
    const sinceAsked = now() - this.#askedAt;
    if (wanting !== this.#wanting) [this.#wanting, this.#pause] = [wanting, ASK_AGAIN.first];
    const isNew = version !== this.#askedVersion ||
      (this.#hasFailed && sinceAsked >= ASK_AGAIN.first);
    const isDue = wanting !== "" && sinceAsked >= this.#pause;
    if (this.#asking !== null || !(isNew || isDue)) return this.#asking;
    this.#pause = isNew ? ASK_AGAIN.first : Math.min(2 * this.#pause, ASK_AGAIN.last);
    [this.#askedAt, this.#askedVersion] = [now(), version];
    const answered = (error: unknown) => {
      this.#hasFailed = error !== null;
      this.#asking = null;
      onAnswer(error);
    };
    return this.#asking = this.#ask().then(() => answered(null), answered);
  }

  async #ask(): Promise<void> {
    const { interface: own, peers } = await this.#options.service.configuration();
    // Parse everything before replacing anything: a malformed answer leaves the known
    // configuration.
    const inside = own.addresses.map(parseNetwork);
    const isPeer = ({ public_key, name, endpoints, allowed_ips }: MeshPeer) =>
      Array.isArray(allowed_ips) &&
      [public_key, name, ...endpoints, ...allowed_ips].every((text) => typeof text === "string");
    if (!peers.every(isPeer)) {
      throw new TypeError("The configuration's peers are not in the known format.");
    }
    [this.#inside, this.#peers] = [inside, peers];
  }
}

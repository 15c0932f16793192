import { AgentError, type Connection, type Netmap, type Peer } from "../../service.ts";

/**
 * Remembers what this process has registered, to detect a later registration by another process.
 */
export class Registration {
  readonly #connection: Connection;
  readonly #publicKey: string;
  #answer: Peer | null = null;
  /**
   * The endpoints of registrations since the last answer. They may have arrived without an answer.
   */
  readonly #unanswered = new Set<string>();

  constructor(connection: Connection, publicKey: string) {
    this.#connection = connection;
    this.#publicKey = publicKey;
  }

  /** Registers as many of the endpoints as the service accepts. Throws AgentError. */
  async register(
    endpoints: readonly string[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Peer> {
    const body = {
      ...this.#self(),
      pubkey: this.#publicKey,
      endpoint: endpoints[0] ?? null,
      ...(endpoints.length > 0 && { endpoints }),
    };
    try {
      this.#unanswered.add(endpoints.join(" "));
      this.#answer = await this.#connection.post<Peer>("/peer/register", body, options);
      this.#unanswered.clear();
      return this.#answer;
    } catch (error) {
      const accepted = withoutRefused(endpoints, error);
      if (accepted === null) throw error;
      return await this.register(accepted, options);
    }
  }

  /**
   * Whether the registration that the service has is the newest one of this process. A copy of this
   * process has the same public key. So its registration is detected by its time and endpoints.
   */
  async isNewest(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<boolean> {
    while (true) {
      const before = this.#answer;
      const { peers } = await this.#connection.post<Netmap>("/netmap", this.#self(), options);
      // A registration was answered meanwhile: /netmap may have been read before it.
      if (this.#answer !== before) continue;
      const own = peers.find(({ self }) => self);
      if (own?.pubkey !== this.#publicKey) return false;
      return own.updated_at === before?.updated_at ||
        this.#unanswered.has(own.endpoints.join(" "));
    }
  }

  #self(): { readonly agent_id?: string } {
    const { agentId } = this.#connection;
    return agentId === undefined ? {} : { agent_id: agentId };
  }
}

/**
 * The endpoints that a 422 does not refuse; null if it is about something else. If it does not say
 * which endpoint it refuses, the last one is dropped.
 */
export function withoutRefused(endpoints: readonly string[], error: unknown): string[] | null {
  if (!(error instanceof AgentError) || error.code !== "invalid_request") return null;
  const { issues = [] } = (error.details ?? {}) as {
    readonly issues?: readonly { readonly path: string }[];
  };
  const refused = new Set(issues.flatMap(({ path }) => {
    if (path === "endpoint") return [0];
    if (path === "endpoints") return [endpoints.length - 1];
    const [, index] = /^endpoints\.(\d+)$/.exec(path) ?? [];
    return index === undefined ? [] : [Number(index)];
  }));
  return refused.size === 0 ? null : endpoints.filter((_, index) => !refused.has(index));
}

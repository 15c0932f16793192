import type { Peer } from "../../contract/types.ts";
import { AgentError } from "../../errors/agent_error.ts";
import type { Connection } from "../../http/connection.ts";

/** What this process has registered, so that it knows registrations of another one. */
export class Registration {
  readonly #connection: Connection;
  readonly #publicKey: string;
  /** The first endpoint of each registration of this process. */
  readonly #first = new Set<string | null>();

  constructor(connection: Connection, publicKey: string) {
    this.#connection = connection;
    this.#publicKey = publicKey;
  }

  /** Registers as many of the endpoints as the service accepts. Throws AgentError. */
  async register(
    endpoints: readonly string[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Peer> {
    const { agentId } = this.#connection;
    const body = {
      ...(agentId !== undefined && { agent_id: agentId }),
      pubkey: this.#publicKey,
      endpoint: endpoints[0] ?? null,
      ...(endpoints.length > 0 && { endpoints }),
    };
    try {
      // Before the answer: the event may be read before it arrives.
      this.#first.add(endpoints[0] ?? null);
      const peer = await this.#connection.post<Peer>("/peer/register", body, options);
      this.#first.add(peer.endpoint);
      return peer;
    } catch (error) {
      const accepted = withoutRefused(endpoints, error);
      if (accepted === null) throw error;
      return await this.register(accepted, options);
    }
  }

  /** Whether an event of this agent's registration is about another process. */
  isOfAnother(event: { readonly pubkey?: string; readonly endpoint?: string | null }): boolean {
    if (event.pubkey !== undefined && event.pubkey !== this.#publicKey) return true;
    return event.pubkey !== undefined && !this.#first.has(event.endpoint ?? null);
  }
}

/**
 * Those that a 422 does not name; null if it is about something else. If it does not say which one
 * it refuses, the last one goes.
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

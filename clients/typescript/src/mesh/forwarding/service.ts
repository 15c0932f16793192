import type { MeshConfiguration } from "../../contract/types.ts";
import { AgentError } from "../../http/agent_error.ts";
import type { Connection } from "../../http/connection.ts";
import type { RelayAnswer } from "../paths/paths.ts";

/** What is asked of the service. The reference agent sends the heartbeats. */
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
    const options = { signal: this.#signal, retrySeconds: 0 };
    return this.#connection.post<Answer>(path, { ...self, ...body }, options);
  }
}

import type {
  Artifact,
  ArtifactsAnswer,
  ArtifactsRequest,
  Recipient,
  StandingGrant,
} from "../contract/types.ts";
import { untilAborted } from "../http/abortable.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { everyPage } from "../http/pages.ts";
import { ArtifactOperations } from "./artifact_operations.ts";

export interface VersionsOptions extends CallOptions {
  /** The agent that owns the file. Default: the caller. */
  readonly agentId?: string;
}

/** The operations about a file's name, and not about one artifact. */
export class NameOperations extends ArtifactOperations {
  /**
   * The versions of a file that the agent may open, newest first.
   *
   * @example
   * ```ts
   * for await (const { version, committed_at } of files.versions("plans/house.txt")) {
   *   console.log(version, committed_at);
   * }
   * ```
   */
  async *versions(
    key: string,
    options: VersionsOptions = {},
  ): AsyncGenerator<Artifact, void, undefined> {
    const { agentId: agent_id } = options;
    const request = { key, limit: 1000 };
    const pages = everyPage((cursor) =>
      this.post<"/versions">("/versions", {
        ...agent_id === undefined ? this.own(request) : { agent_id, ...request },
        ...cursor,
      }, options)
    );
    const signal = this.connection.signalOf(options);
    for await (const page of pages) yield* untilAborted(page.versions, signal);
  }

  /**
   * Whom the agent has granted files to, and who has granted files to the agent, each with the time
   * when the last of their live grants expires. Tags come first.
   *
   * @example
   * ```ts
   * for await (const { agent_id, tag, given_until } of files.recipients()) {
   *   console.log(agent_id ?? tag, given_until);
   * }
   * ```
   */
  async *recipients(options: CallOptions = {}): AsyncGenerator<Recipient, void, undefined> {
    const pages = everyPage((cursor) =>
      this.post<"/recipients">("/recipients", this.own({ limit: 1000, ...cursor }), options)
    );
    const signal = this.connection.signalOf(options);
    for await (const page of pages) yield* untilAborted(page.recipients, signal);
  }

  /**
   * Grants every file that the agent will commit under a name or a prefix.
   *
   * @example
   * ```ts
   * const { standing_id } = await files.createStanding({
   *   prefix: "reports/",
   *   to_agent: "builder",
   *   expires_at: "2026-12-31T18:00:00Z",
   * });
   * ```
   */
  createStanding(
    request: ArtifactsRequest<"/standing/create">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/standing/create">> {
    return this.post<"/standing/create">("/standing/create", this.own(request), options);
  }

  /**
   * The agent's live standing grants, those that end first.
   *
   * @example
   * ```ts
   * for await (const { prefix, to_agent } of files.standing()) console.log(prefix, to_agent);
   * ```
   */
  async *standing(options: CallOptions = {}): AsyncGenerator<StandingGrant, void, undefined> {
    const pages = everyPage((cursor) =>
      this.post<"/standing/list">("/standing/list", this.own({ limit: 1000, ...cursor }), options)
    );
    const signal = this.connection.signalOf(options);
    for await (const page of pages) yield* untilAborted(page.standing_grants, signal);
  }

  /**
   * Ends a standing grant and, unless told otherwise, the grants that it made: repeats the request
   * until none is left. Returns how many grants it ended.
   *
   * @example
   * ```ts
   * const revoked = await files.endStanding({ standing_id });
   * ```
   */
  async endStanding(
    request: ArtifactsRequest<"/standing/end">,
    options: CallOptions = {},
  ): Promise<number> {
    let revoked = 0;
    for (let remaining = true; remaining;) {
      const ended = await this.post<"/standing/end">("/standing/end", request, options);
      revoked += ended.revoked;
      ({ remaining } = ended);
    }
    return revoked;
  }
}

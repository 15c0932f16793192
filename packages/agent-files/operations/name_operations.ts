import type { Artifact } from "../contract/types.ts";
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
}

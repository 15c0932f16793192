import type {
  Artifact,
  ArtifactsAnswer,
  ArtifactsRequest,
  Download,
  Grant,
} from "../contract/types.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { commit, type CommitOptions } from "../transfer/commit.ts";
import { TaskOperations } from "./task_operations.ts";

/** The operations of the artifacts function. Each takes and returns the operation's fields. */
export class ArtifactOperations extends TaskOperations {
  /**
   * Registers a file, and returns the URL to upload its bytes to. `put` does this, too.
   *
   * @example
   * ```ts
   * const { artifact_id, upload_url } = await files.register({
   *   key: "plans/house.txt",
   *   mime: "text/plain",
   *   size: 18,
   *   ttl_days: 7,
   * });
   * ```
   */
  register(
    request: ArtifactsRequest<"/register">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/register">> {
    return this.post<"/register">("/register", this.own(request), options);
  }

  /**
   * Commits uploaded bytes. Repeats the request until all of them are verified.
   *
   * @example
   * ```ts
   * const artifact = await files.commit({ artifact_id, sha256 });
   * ```
   */
  commit(
    request: ArtifactsRequest<"/commit">,
    options: CommitOptions = {},
  ): Promise<ArtifactsAnswer<"/commit">> {
    return commit(this.connection, request, options);
  }

  /**
   * Gives an agent access to an artifact, by the fields of the operation. See `share`.
   *
   * @example
   * ```ts
   * const grant = await files.grant({
   *   artifact_id,
   *   to_agent: "builder",
   *   expires_at: "2026-12-31T18:00:00Z",
   * });
   * ```
   */
  grant(
    request: ArtifactsRequest<"/grant">,
    options: CallOptions = {},
  ): Promise<Grant> {
    return this.post<"/grant">("/grant", request, options);
  }

  /**
   * Ends grants, by the fields of the operation. See `unshare`.
   *
   * @example
   * ```ts
   * const { revoked } = await files.revoke({ grant_id: grant.grant_id });
   * ```
   */
  revoke(
    request: ArtifactsRequest<"/revoke">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/revoke">> {
    return this.post<"/revoke">("/revoke", request, options);
  }

  /**
   * Returns a download URL for a grant token. `get` also downloads.
   *
   * @example
   * ```ts
   * const { url } = await files.fetch({ grant_token: token });
   * ```
   */
  fetch(
    request: ArtifactsRequest<"/fetch">,
    options: CallOptions = {},
  ): Promise<Download> {
    return this.post<"/fetch">("/fetch", request, options);
  }

  /**
   * Returns a download URL for an artifact. `get` also downloads.
   *
   * @example
   * ```ts
   * const { url, sha256 } = await files.open({ artifact_id });
   * ```
   */
  open(
    request: ArtifactsRequest<"/open">,
    options: CallOptions = {},
  ): Promise<Download> {
    return this.post<"/open">("/open", request, options);
  }

  /**
   * Deletes an artifact by its id, and ends its grants. See `remove`.
   *
   * @example
   * ```ts
   * await files.delete({ artifact_id });
   * ```
   */
  delete(
    request: ArtifactsRequest<"/delete">,
    options: CallOptions = {},
  ): Promise<Artifact> {
    return this.post<"/delete">("/delete", request, options);
  }

  /**
   * Keeps the grants of an agent out of the inbox.
   *
   * @example
   * ```ts
   * await files.block({ from_agent: "stranger" });
   * ```
   */
  block(
    request: ArtifactsRequest<"/inbox/block">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/block">> {
    return this.post<"/inbox/block">(
      "/inbox/block",
      this.own(request),
      options,
    );
  }

  /**
   * Shows the grants of an agent in the inbox again.
   *
   * @example
   * ```ts
   * await files.unblock({ from_agent: "stranger" });
   * ```
   */
  unblock(
    request: ArtifactsRequest<"/inbox/unblock">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/unblock">> {
    return this.post<"/inbox/unblock">(
      "/inbox/unblock",
      this.own(request),
      options,
    );
  }

  /**
   * Tells where something is newer than the given positions: in the inbox, the events of either
   * function, or the mesh configuration. With `wait_seconds`, waits until something is. If the
   * agent has a peer in the mesh, this also counts as its heartbeat.
   *
   * @example
   * ```ts
   * const { inbox } = await files.wait({ inbox_after: position, wait_seconds: 140 });
   * ```
   */
  wait(
    request: ArtifactsRequest<"/wait"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/wait">> {
    return this.post<"/wait">("/wait", this.own(request), options);
  }

  /**
   * Ends the agent: its keys, its peer and its rules. Files and grants stay until their own end.
   *
   * @example
   * ```ts
   * const { left } = await files.leave();
   * ```
   */
  leave(options: CallOptions = {}): Promise<ArtifactsAnswer<"/leave">> {
    return this.post<"/leave">("/leave", this.own({}), options);
  }

  /**
   * For the operator: removes expired artifacts, a limited number in each call.
   *
   * @example
   * ```ts
   * let remaining;
   * do ({ remaining } = await files.sweep()); while (remaining);
   * ```
   */
  sweep(
    request: ArtifactsRequest<"/sweep"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/sweep">> {
    return this.post<"/sweep">("/sweep", request, options);
  }
}

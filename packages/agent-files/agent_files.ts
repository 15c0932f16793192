import type {
  Artifact,
  ArtifactsAnswer,
  ArtifactsEvent,
  ArtifactsRequest,
  GivenGrant,
  Grant,
  Identity,
  InboxEntry,
} from "./contract/types.ts";
import { type EventsOptions, followEvents } from "./follow/events.ts";
import { followInbox, type InboxOptions } from "./follow/inbox.ts";
import type { ExtractFolderOptions, GotFolder } from "./folders/get_folder.ts";
import type { PutFolder, PutFolderOptions } from "./folders/put_folder.ts";
import { untilAborted } from "./http/abortable.ts";
import type { CallOptions } from "./http/connection_options.ts";
import { everyPage } from "./http/pages.ts";
import { NameOperations } from "./operations/name_operations.ts";
import { get, type GetOptions, type Got } from "./transfer/get.ts";
import { put, type PutArtifact, type PutOptions } from "./transfer/put.ts";
import {
  type Grantee,
  granteeOf,
  shareFields,
  type ShareLink,
  type ShareOptions,
} from "./transfer/sharing.ts";
import type { Source } from "./transfer/source.ts";
import { ownArtifactId, type Target } from "./transfer/target.ts";

export type GetFolderOptions = GetOptions & ExtractFolderOptions;

export interface ListOptions extends CallOptions {
  /** Lists only keys that begin with this. Default: all keys. */
  readonly prefix?: string;
}

export interface GrantsOptions extends CallOptions {
  readonly artifactId?: string;
  readonly toAgent?: string;
  readonly toTag?: string;
  /** Only this grant, even if it has ended: see its `ended`. */
  readonly grantId?: string;
}

/**
 * An agent's files, and those that other agents grant it. Every method throws AgentError, or the
 * reason that its signal was aborted with.
 *
 * @example
 * ```ts
 * const files = new AgentFiles({ url: "https://<ref>.supabase.co", key: "ak_…" });
 * ```
 */
export class AgentFiles extends NameOperations {
  /**
   * Uploads a file under a key, and grants it to the agents of `to`. Resolves when it is committed.
   *
   * @example
   * ```ts
   * await files.put("plans/house.txt", { path: "house.txt" }, { to: ["builder"], ttlDays: 7 });
   * ```
   */
  put(key: string, source: Source, options: PutOptions = {}): Promise<PutArtifact> {
    return put(this.connection, key, source, options);
  }

  /**
   * Downloads a file: its metadata, and its bytes as a stream. The stream ends with an error if the
   * bytes are not those that were committed.
   *
   * @example
   * ```ts
   * const { artifact, body } = await files.get("plans/house.txt");
   * const text = await new Response(body).text();
   * ```
   */
  get(target: Target, options: GetOptions = {}): Promise<Got> {
    return get(this.connection, target, options);
  }

  /**
   * Uploads a folder as a tar, which is packed while it is sent. Node and Deno only. Links, fifos,
   * sockets, devices and names that are not UTF-8 are left out, and named in `leftOut`. Hidden
   * files are sent and named in `hidden`, unless `exclude` or `gitignore` leaves them out. Throws
   * `archive_refused` for what is too deep for `getFolder`; then nothing has been sent.
   *
   * @example
   * ```ts
   * const { leftOut } = await files.putFolder("drawings.tar", "drawings", { exclude: [".*"] });
   * ```
   */
  async putFolder(
    key: string,
    folder: string,
    options: PutFolderOptions = {},
  ): Promise<PutFolder> {
    const { putFolder } = await import("./folders/put_folder.ts");
    return await putFolder(this.connection, key, folder, options);
  }

  /**
   * Downloads a tar, from `putFolder`, `agentfiles put` or elsewhere, and extracts it to the new
   * folder `path`. Node and Deno only. The folder appears once every byte is verified. Throws
   * `target_exists`, or `archive_refused` for a tar with links, devices, or names that lead out of
   * the folder. After both errors, nothing has changed.
   *
   * @example
   * ```ts
   * await files.getFolder({ key: "drawings.tar", agentId: "planner" }, "drawings");
   * ```
   */
  async getFolder(
    target: Target,
    path: string,
    options: GetFolderOptions = {},
  ): Promise<GotFolder> {
    const { getFolder } = await import("./folders/get_folder.ts");
    return await getFolder(() => this.get(target, options), path, options);
  }

  /**
   * Gives an agent, or every agent that has a tag, access to an artifact of the caller. If `to` is
   * null, anyone who has the token of the grant has access.
   *
   * @example
   * ```ts
   * await files.share("plans/house.txt", "builder", { maxDownloads: 1 });
   * await files.share("plans/house.txt", { tag: "tag:builder" }, {
   *   note: "Please build this.",
   *   deliver: "one",
   * });
   * ```
   */
  async share(
    target: Target,
    to: Grantee | null,
    options: ShareOptions = {},
  ): Promise<Grant> {
    return await this.grant({
      artifact_id: await ownArtifactId(this.connection, target, options),
      ...shareFields(to, options),
    }, options);
  }

  /**
   * Makes a URL with which a person can download an artifact of the caller.
   *
   * @example
   * ```ts
   * const { url } = await files.link("plans/house.txt", { maxDownloads: 1 });
   * ```
   */
  async link(target: Target, options: ShareOptions = {}): Promise<ShareLink> {
    const grant = await this.share(target, null, options);
    return { ...grant, url: this.connection.urlOf(`/d/${grant.token}`) };
  }

  /**
   * Ends every live grant of an artifact to an agent, or to a tag.
   *
   * @example
   * ```ts
   * const { revoked } = await files.unshare("plans/house.txt", "builder");
   * ```
   */
  async unshare(
    target: Target,
    from: Grantee,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/revoke">> {
    const artifact_id = await ownArtifactId(this.connection, target, options);
    return await this.revoke({ artifact_id, ...granteeOf(from) }, options);
  }

  /**
   * Deletes an artifact, and ends its grants.
   *
   * @example
   * ```ts
   * await files.remove("plans/house.txt");
   * ```
   */
  async remove(target: Target, options: CallOptions = {}): Promise<Artifact> {
    const artifact_id = await ownArtifactId(this.connection, target, options);
    return await this.delete({ artifact_id }, options);
  }

  /**
   * The current artifact of each of the agent's keys, in byte order of the keys.
   *
   * @example
   * ```ts
   * for await (const { key, size } of files.list({ prefix: "plans/" })) console.log(key, size);
   * ```
   */
  async *list(options: ListOptions = {}): AsyncGenerator<Artifact, void, undefined> {
    const { prefix = "" } = options;
    const pages = everyPage((cursor) =>
      this.post<"/list">("/list", this.own({ prefix, limit: 1000, ...cursor }), options)
    );
    const signal = this.connection.signalOf(options);
    for await (const page of pages) yield* untilAborted(page.artifacts, signal);
  }

  /**
   * The live grants to the agent, newest first. With `wait`, continues with each new grant as it
   * arrives.
   *
   * @example
   * ```ts
   * for await (const { artifact_id, key } of files.inbox({ wait: true })) {
   *   const { body } = await files.get(artifact_id);
   *   console.log(key, await new Response(body).text());
   * }
   * ```
   */
  inbox(options: InboxOptions = {}): AsyncGenerator<InboxEntry, void, undefined> {
    return followInbox(this.connection, options);
  }

  /**
   * One answer of /inbox. With `wait_seconds`, it waits for a new grant. See `inbox`.
   *
   * @example
   * ```ts
   * const { grants, latest } = await files.inboxPage({ after: position, wait_seconds: 30 });
   * ```
   */
  inboxPage(
    request: ArtifactsRequest<"/inbox"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox">> {
    return this.post<"/inbox">("/inbox", this.own(request), options);
  }

  /**
   * The live grants that the agent has given.
   *
   * @example
   * ```ts
   * for await (const { to_agent, key } of files.grants()) console.log(key, to_agent);
   * ```
   */
  async *grants(options: GrantsOptions = {}): AsyncGenerator<GivenGrant, void, undefined> {
    const { artifactId, toAgent, toTag, grantId } = options;
    const request = {
      limit: 1000,
      ...(artifactId !== undefined && { artifact_id: artifactId }),
      ...(toAgent !== undefined && { to_agent: toAgent }),
      ...(toTag !== undefined && { to_tag: toTag }),
      ...(grantId !== undefined && { grant_id: grantId }),
    };
    const pages = everyPage((cursor) =>
      this.post<"/grants">("/grants", this.own({ ...request, ...cursor }), options)
    );
    const signal = this.connection.signalOf(options);
    for await (const page of pages) yield* untilAborted(page.grants, signal);
  }

  /**
   * The events of the agent's files, and the agent's own actions. With `wait`, continues with each
   * new event.
   *
   * @example
   * ```ts
   * for await (const { type, at } of files.events({ wait: true })) console.log(at, type);
   * ```
   */
  events(options: EventsOptions = {}): AsyncGenerator<ArtifactsEvent, void, undefined> {
    return followEvents<ArtifactsAnswer<"/events">>(this.connection, options);
  }

  /**
   * One answer of /events. With `wait_seconds`, it waits for a new event. See `events`.
   *
   * @example
   * ```ts
   * const { events, latest } = await files.eventsPage({ types: ["grant.created"] });
   * ```
   */
  eventsPage(
    request: ArtifactsRequest<"/events"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/events">> {
    return this.post<"/events">("/events", this.own(request), options);
  }

  /**
   * The agent or the operator that the key belongs to.
   *
   * @example
   * ```ts
   * const { agent_id } = await files.whoami();
   * ```
   */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.connection.get<Identity>("/whoami", options);
  }
}

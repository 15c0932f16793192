import type {
  Artifact,
  ArtifactsAnswer,
  ArtifactsEvent,
  ArtifactsPath,
  ArtifactsRequest,
  Download,
  GivenGrant,
  Grant,
  Identity,
  InboxEntry,
} from "./contract/types.ts";
import { type EventsOptions, followEvents } from "./follow/events.ts";
import { followInbox, type InboxOptions } from "./follow/inbox.ts";
import type { ExtractFolderOptions, GotFolder } from "./folders/get_folder.ts";
import type { PutFolder } from "./folders/put_folder.ts";
import { type CallOptions, Connection, type ConnectionOptions } from "./http/connection.ts";
import { everyPage } from "./http/pages.ts";
import { commit, type CommitOptions } from "./transfer/commit.ts";
import { get, type GetOptions, type Got } from "./transfer/get.ts";
import { put, type PutArtifact, type PutOptions } from "./transfer/put.ts";
import type { Source } from "./transfer/source.ts";
import { ownArtifactId, type Target } from "./transfer/target.ts";

export interface ShareOptions extends CallOptions {
  /** How long the access lasts. Default: as long as the artifact. */
  readonly expiresAt?: Date | string;
  /** How many downloads it gives, from 1 to 1000. Default: any number. */
  readonly maxDownloads?: number;
}

/** A grant for whoever has its URL. */
export type ShareLink = Grant & { readonly url: string };

export type GetFolderOptions = GetOptions & ExtractFolderOptions;

export interface ListOptions extends CallOptions {
  /** What the keys begin with. Default: all. */
  readonly prefix?: string;
}

export interface GrantsOptions extends CallOptions {
  readonly artifactId?: string;
  readonly toAgent?: string;
}

/** A grant ends with its artifact, if not before. */
const AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z";

/**
 * An agent's files, and those that other agents grant it. Every method throws AgentError, or what
 * its signal was aborted with. Methods named as operations take and answer what these do.
 */
export class AgentFiles {
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection("agent-artifacts", options);
  }

  /** Puts a file under a key: registered, uploaded, verified, and granted to the agents of `to`. */
  put(key: string, source: Source, options: PutOptions = {}): Promise<PutArtifact> {
    return put(this.#connection, key, source, options);
  }

  /** A file's metadata, and its bytes as a stream whose end fails when they are not right. */
  get(target: Target, options: GetOptions = {}): Promise<Got> {
    return get(this.#connection, target, options);
  }

  /**
   * Puts a folder, packed as a tar while it is sent, in Node and Deno. Links, fifos, sockets and
   * devices are not in it: the answer names them.
   *
   * @example const { leftOut } = await files.putFolder("drawings.tar", "drawings");
   */
  async putFolder(
    key: string,
    folder: string,
    options: Omit<PutOptions, "mime"> = {},
  ): Promise<PutFolder> {
    const { putFolder } = await import("./folders/put_folder.ts");
    return await putFolder(this.#connection, key, folder, options);
  }

  /**
   * Makes the new folder `path` of one that `putFolder` or `agentfiles put` has packed, or of
   * another tar, in Node and Deno. It appears once every byte is verified. Throws
   * `archive_refused` for a tar with links, devices, or names that lead out of the folder, and
   * `target_exists`; then nothing has changed.
   *
   * @example await files.getFolder({ key: "drawings.tar", agentId: "planner" }, "drawings");
   */
  async getFolder(
    target: Target,
    path: string,
    options: GetFolderOptions = {},
  ): Promise<GotFolder> {
    const { getFolder } = await import("./folders/get_folder.ts");
    return await getFolder(() => this.get(target, options), path, options);
  }

  /** Gives an agent access to an artifact of the caller's; null: whoever has the grant's token. */
  async share(target: Target, toAgent: string | null, options: ShareOptions = {}): Promise<Grant> {
    const { expiresAt: until = AS_LONG_AS_THE_ARTIFACT, maxDownloads } = options;
    return await this.grant({
      artifact_id: await ownArtifactId(this.#connection, target, options),
      expires_at: typeof until === "string" ? until : until.toISOString(),
      ...(toAgent !== null && { to_agent: toAgent }),
      ...(maxDownloads !== undefined && { max_downloads: maxDownloads }),
    }, options);
  }

  /** Makes a URL that a person can open to download an artifact of the caller's. */
  async link(target: Target, options: ShareOptions = {}): Promise<ShareLink> {
    const grant = await this.share(target, null, options);
    return { ...grant, url: this.#connection.urlOf(`/d/${grant.token}`) };
  }

  /** Ends every live grant of an artifact to an agent. */
  async unshare(
    target: Target,
    agent: string,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/revoke">> {
    const artifact_id = await ownArtifactId(this.#connection, target, options);
    return await this.revoke({ artifact_id, to_agent: agent }, options);
  }

  /** Ends an artifact and its grants. */
  async remove(target: Target, options: CallOptions = {}): Promise<Artifact> {
    const artifact_id = await ownArtifactId(this.#connection, target, options);
    return await this.delete({ artifact_id }, options);
  }

  /** The current artifact of each of the agent's keys, in byte order of the keys. */
  async *list(options: ListOptions = {}): AsyncGenerator<Artifact, void, undefined> {
    const { prefix = "" } = options;
    const pages = everyPage((cursor) =>
      this.#post<"/list">("/list", this.#own({ prefix, limit: 1000, ...cursor }), options)
    );
    for await (const page of pages) yield* page.artifacts;
  }

  /** The live grants to the agent, newest first; with `wait`, then each new one as it comes. */
  inbox(options: InboxOptions = {}): AsyncGenerator<InboxEntry, void, undefined> {
    return followInbox(this.#connection, options);
  }

  /** One answer of /inbox, which may wait for what comes. `inbox` goes on from page to page. */
  inboxPage(
    request: ArtifactsRequest<"/inbox"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox">> {
    return this.#post<"/inbox">("/inbox", this.#own(request), options);
  }

  /** The live grants that the agent has given. */
  async *grants(options: GrantsOptions = {}): AsyncGenerator<GivenGrant, void, undefined> {
    const { artifactId, toAgent } = options;
    const request = {
      limit: 1000,
      ...(artifactId !== undefined && { artifact_id: artifactId }),
      ...(toAgent !== undefined && { to_agent: toAgent }),
    };
    const pages = everyPage((cursor) =>
      this.#post<"/grants">("/grants", this.#own({ ...request, ...cursor }), options)
    );
    for await (const page of pages) yield* page.grants;
  }

  /** What happened to the agent's files and what it did; with `wait`, then what comes. */
  events(options: EventsOptions = {}): AsyncGenerator<ArtifactsEvent, void, undefined> {
    return followEvents<ArtifactsAnswer<"/events">>(this.#connection, options);
  }

  /** One answer of /events, which may wait for what comes. */
  eventsPage(
    request: ArtifactsRequest<"/events"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/events">> {
    return this.#post<"/events">("/events", this.#own(request), options);
  }

  /** Whom the key stands for. */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#connection.get<Identity>("/whoami", options);
  }

  register(
    request: ArtifactsRequest<"/register">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/register">> {
    return this.#post<"/register">("/register", this.#own(request), options);
  }

  /** Repeats the request until everything is verified. */
  commit(
    request: ArtifactsRequest<"/commit">,
    options: CommitOptions = {},
  ): Promise<ArtifactsAnswer<"/commit">> {
    return commit(this.#connection, request, options);
  }

  grant(request: ArtifactsRequest<"/grant">, options: CallOptions = {}): Promise<Grant> {
    return this.#post<"/grant">("/grant", request, options);
  }

  revoke(
    request: ArtifactsRequest<"/revoke">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/revoke">> {
    return this.#post<"/revoke">("/revoke", request, options);
  }

  /** A download URL for a grant token. `get` downloads, too. */
  fetch(request: ArtifactsRequest<"/fetch">, options: CallOptions = {}): Promise<Download> {
    return this.#post<"/fetch">("/fetch", request, options);
  }

  /** A download URL for an artifact. `get` downloads, too. */
  open(request: ArtifactsRequest<"/open">, options: CallOptions = {}): Promise<Download> {
    return this.#post<"/open">("/open", request, options);
  }

  delete(request: ArtifactsRequest<"/delete">, options: CallOptions = {}): Promise<Artifact> {
    return this.#post<"/delete">("/delete", request, options);
  }

  /** Keeps what an agent grants out of the inbox. */
  block(
    request: ArtifactsRequest<"/inbox/block">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/block">> {
    return this.#post<"/inbox/block">("/inbox/block", this.#own(request), options);
  }

  unblock(
    request: ArtifactsRequest<"/inbox/unblock">,
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/inbox/unblock">> {
    return this.#post<"/inbox/unblock">("/inbox/unblock", this.#own(request), options);
  }

  /** For the operator: removes a part of what is over. */
  sweep(
    request: ArtifactsRequest<"/sweep"> = {},
    options: CallOptions = {},
  ): Promise<ArtifactsAnswer<"/sweep">> {
    return this.#post<"/sweep">("/sweep", request, options);
  }

  #post<Path extends ArtifactsPath>(
    path: Path,
    request: ArtifactsRequest<Path>,
    options: CallOptions,
  ): Promise<ArtifactsAnswer<Path>> {
    return this.#connection.post<ArtifactsAnswer<Path>>(path, request as object, options);
  }

  /** A request that names the agent, where the connection knows which it is. */
  #own<Request extends object>(request: Request): Request & { agent_id?: string } {
    const { agentId } = this.#connection;
    return agentId === undefined ? request : { agent_id: agentId, ...request };
  }
}

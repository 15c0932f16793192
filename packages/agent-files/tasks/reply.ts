import type { ArtifactsRequest } from "../contract/types.ts";
import { AgentError, invalidFields } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { discard, put, type PutOptions } from "../transfer/put.ts";
import type { Source } from "../transfer/source.ts";

/** What `done` says about a task, and the file that answers it. */
export interface DoneOptions
  extends CallOptions, Pick<PutOptions, "mime" | "ttlDays" | "metadata" | "onProgress"> {
  /** The answer: content to upload, or an artifact of the agent. The giver gets access to it. */
  readonly reply?: Source | { readonly artifactId: string };
  /** What to say about the reply: up to 2,000 characters. */
  readonly note?: string;
  /** The name of an uploaded reply. Default: `replies/` and the name of the task's file. */
  readonly key?: string;
  /** When the giver's access to the reply ends. Default: when the reply expires. */
  readonly expiresAt?: Date | string;
}

type ReplyFields = NonNullable<ArtifactsRequest<"/inbox/done">["reply"]>;

/** The reply to one task. It is uploaded once, however often `done` is called with it. */
export class Reply {
  readonly #connection: Connection;
  readonly #defaultKey: string;
  #uploaded: { readonly source: Source; readonly artifactId: string } | null = null;
  /** Whether the service may have granted it: an answer may have been lost. */
  #mayBeGranted = false;

  constructor(connection: Connection, taskKey: string) {
    this.#connection = connection;
    this.#defaultKey = `replies/${taskKey}`;
  }

  /** The field of the request. Uploads the reply. Throws `invalid_request` before that. */
  async fields(
    { reply, note, expiresAt, ...options }: DoneOptions,
    signal: AbortSignal,
  ): Promise<{ readonly reply?: ReplyFields }> {
    if (reply === undefined) {
      const unused = { note, expiresAt, key: options.key };
      const issues = Object.entries(unused).flatMap(([path, value]) =>
        value === undefined ? [] : [{ path, message: "Needs a reply." }]
      );
      if (issues.length > 0) throw invalidFields(issues);
      return {};
    }
    const artifact_id = isArtifact(reply)
      ? reply.artifactId
      : await this.#upload(reply, options, signal);
    const until = expiresAt === undefined || typeof expiresAt === "string"
      ? expiresAt
      : expiresAt.toISOString();
    return {
      reply: {
        artifact_id,
        ...(note !== undefined && { note }),
        ...(until !== undefined && { expires_at: until }),
      },
    };
  }

  async #upload(
    source: Source,
    { key = this.#defaultKey, ...options }: DoneOptions,
    signal: AbortSignal,
  ): Promise<string> {
    if (this.#uploaded?.source !== source) {
      await this.discard();
      const { artifact_id } = await put(this.#connection, key, source, { ...options, signal });
      this.#uploaded = { source, artifactId: artifact_id };
      this.#mayBeGranted = false;
    }
    return this.#uploaded.artifactId;
  }

  /** Call it with the request that grants the reply. */
  async whileSent<Answer>(request: Promise<Answer>): Promise<Answer> {
    this.#mayBeGranted = true;
    try {
      return await request;
    } catch (error) {
      const isRefusal = error instanceof AgentError && error.status >= 400 && !error.retryable;
      if (isRefusal) this.#mayBeGranted = false;
      throw error;
    }
  }

  /** Deletes an uploaded reply, unless the giver may have got it. */
  async discard(): Promise<void> {
    if (this.#uploaded === null || this.#mayBeGranted) return;
    const { artifactId } = this.#uploaded;
    this.#uploaded = null;
    await discard(this.#connection, artifactId);
  }
}

function isArtifact(
  reply: NonNullable<DoneOptions["reply"]>,
): reply is { readonly artifactId: string } {
  return typeof reply === "object" && "artifactId" in reply;
}

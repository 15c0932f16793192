import type { Artifact, ArtifactsAnswer, Grant } from "../contract/types.ts";
import { AgentError } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause, pauseMilliseconds, withRetries } from "../http/retries.ts";
import { commit } from "./commit.ts";
import { assertNames } from "./names.ts";
import { type OpenedSource, openSource, type Source } from "./source.ts";
import { upload } from "./upload.ts";

/** The progress of a transfer. */
export interface Progress {
  readonly phase: "upload" | "verify" | "download";
  /** Transferred so far in this phase. */
  readonly bytes: number;
  /** The size of the whole file, in bytes. */
  readonly size: number;
}

export interface PutOptions extends CallOptions {
  /** The agents that get access. */
  readonly to?: readonly string[];
  /** Tags, such as `tag:builder`: every agent that has one of them gets access. */
  readonly toTags?: readonly string[];
  /** When the access ends. Default: when the artifact expires. */
  readonly grantExpiresAt?: Date | string;
  /** How many days the artifact lasts. Default: 7. */
  readonly ttlDays?: number;
  /** Default: the Blob's type, else application/octet-stream. */
  readonly mime?: string;
  /** At most 32 texts by name, which are shown with the file and never change. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly onProgress?: (progress: Progress) => void;
}

/** A committed artifact with the grants that were made of it. */
export type PutArtifact = Artifact & { readonly grants: readonly Grant[] };

const DEFAULT_TTL_DAYS = 7;
const UPLOADS = 4;

/**
 * Registers a file, uploads it, commits it, and grants it. If bytes are lost or changed on the way,
 * they are sent again if the source can be read again. Throws `invalid_request` for an invalid
 * name, before anything is sent.
 */
export async function put(
  connection: Connection,
  key: string,
  source: Source,
  options: PutOptions = {},
): Promise<PutArtifact> {
  const { signal: _, ...unsignaled } = options;
  const signal = connection.signalOf(options);
  const call = { ...unsignaled, signal };
  signal?.throwIfAborted();
  assertNames({ key, to: options.to, toTags: options.toTags });
  const opened = await openSource(source);
  const registered = await connection.post<ArtifactsAnswer<"/register">>(
    "/register",
    {
      ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
      key,
      mime: options.mime ?? mimeOf(source),
      size: opened.size,
      ttl_days: options.ttlDays ?? DEFAULT_TTL_DAYS,
      // An earlier release refuses the field.
      ...(options.metadata !== undefined && { metadata: options.metadata }),
    },
    call,
  );
  const artifact = await send(connection, opened, registered, call);
  return { ...artifact, grants: await grantTo(connection, artifact, call) };
}

function mimeOf(source: Source): string {
  return source instanceof Blob && source.type !== "" ? source.type : "application/octet-stream";
}

async function send(
  connection: Connection,
  source: OpenedSource,
  registered: ArtifactsAnswer<"/register">,
  options: PutOptions,
): Promise<Artifact> {
  const { onProgress, signal } = options;
  const { artifact_id } = registered;
  const { size } = source;
  for (let attempt = 1;; attempt++) {
    const sha256 = await uploadWithRetries(
      connection,
      source,
      registered,
      options,
    )
      .catch(async (error) => {
        await giveUp(connection, registered);
        throw error;
      });
    try {
      return await commit(connection, { artifact_id, sha256 }, {
        ...options,
        onVerified: (bytes) => onProgress?.({ phase: "verify", bytes, size }),
      });
    } catch (error) {
      if (!isLostOnTheWay(error)) throw error;
      if (!source.isRepeatable || attempt === UPLOADS) {
        await giveUp(connection, registered);
        throw error;
      }
      await pause(pauseMilliseconds(attempt, null), signal);
    }
  }
}

function uploadWithRetries(
  connection: Connection,
  source: OpenedSource,
  { upload_url }: ArtifactsAnswer<"/register">,
  { onProgress, signal, retrySeconds }: PutOptions,
): Promise<string> {
  const seconds = source.isRepeatable ? retrySeconds ?? connection.retrySeconds : 0;
  return withRetries(() =>
    upload(upload_url, source, {
      fetch: connection.fetch,
      onBytes: (bytes) => onProgress?.({ phase: "upload", bytes, size: source.size }),
      signal,
    }), { seconds, signal, onRetry: connection.onRetry });
}

/** Whether the upload was incomplete or damaged. Its URL then accepts another one. */
function isLostOnTheWay(error: unknown): boolean {
  return error instanceof AgentError &&
    ["upload_missing", "size_mismatch", "checksum_mismatch"].includes(
      error.code,
    );
}

async function grantTo(
  connection: Connection,
  { artifact_id, expires_at }: Artifact,
  options: PutOptions,
): Promise<Grant[]> {
  const grants: Grant[] = [];
  const grantees = [
    ...(options.to ?? []).map((to_agent) => ({ to_agent })),
    ...(options.toTags ?? []).map((to_tag) => ({ to_tag })),
  ];
  for (const grantee of grantees) {
    const until = options.grantExpiresAt ?? expires_at;
    const request = { artifact_id, ...grantee, expires_at: until };
    grants.push(await connection.post<Grant>("/grant", request, options));
  }
  return grants;
}

/**
 * Deletes a registration whose upload failed, so that it does not count against the agent's limits.
 * Not called if a commit may have succeeded.
 */
async function giveUp(
  connection: Connection,
  { artifact_id }: ArtifactsAnswer<"/register">,
): Promise<void> {
  await connection.withoutSignal().post("/delete", { artifact_id }, {
    retrySeconds: 0,
  })
    .catch(() => {});
}

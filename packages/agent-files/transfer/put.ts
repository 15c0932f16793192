import type { Artifact, ArtifactsAnswer, Grant } from "../contract/types.ts";
import { AgentError } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause, pauseMilliseconds, withRetries } from "../http/retries.ts";
import { commit } from "./commit.ts";
import { assertNames } from "./names.ts";
import { grantsOf, type HandOverOptions } from "./sharing.ts";
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

export interface PutOptions extends CallOptions, HandOverOptions {
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
  /** How many superseded versions of the file to keep, from 1 to 1,000. Default: all. */
  readonly keepVersions?: number;
  /** With `keepVersions`: also end versions that others may still open. Default: false. */
  readonly endGrants?: boolean;
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
  const grants = grantsOf(options);
  const opened = await openSource(source);
  const registered = await connection.post<ArtifactsAnswer<"/register">>(
    "/register",
    {
      ...(connection.agentId !== undefined && { agent_id: connection.agentId }),
      key,
      mime: options.mime ?? mimeOf(source),
      size: opened.size,
      ttl_days: options.ttlDays ?? DEFAULT_TTL_DAYS,
      // An earlier release refuses these fields.
      ...(options.metadata !== undefined && { metadata: options.metadata }),
      ...(options.keepVersions !== undefined && { keep_versions: options.keepVersions }),
      ...(options.endGrants !== undefined && { end_grants: options.endGrants }),
    },
    call,
  );
  const artifact = await send(connection, opened, registered, call);
  return { ...artifact, grants: await grantTo(connection, artifact, grants, call) };
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
        await discard(connection, artifact_id);
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
        await discard(connection, artifact_id);
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
  fields: ReturnType<typeof grantsOf>,
  options: PutOptions,
): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (const one of fields) {
    const request = { artifact_id, expires_at: options.grantExpiresAt ?? expires_at, ...one };
    grants.push(await connection.post<Grant>("/grant", request, options));
  }
  return grants;
}

/**
 * Deletes a registration whose upload failed, so that it does not count against the agent's limits,
 * or an artifact that nobody got to know of. Not called if a commit may have succeeded otherwise.
 */
export async function discard(connection: Connection, artifactId: string): Promise<void> {
  await connection.withoutSignal()
    .post("/delete", { artifact_id: artifactId }, { retrySeconds: 0 })
    .catch(() => {});
}

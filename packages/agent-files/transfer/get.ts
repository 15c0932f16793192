import type { ArtifactsAnswer, Download } from "../contract/types.ts";
import { AgentError } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { everyPage } from "../http/pages.ts";
import { verifiedBytes } from "./download.ts";
import type { Progress } from "./put.ts";
import {
  artifactNotFound,
  ownArtifactId,
  parseArtifactId,
  parseTarget,
  type Target,
} from "./target.ts";

export interface GetOptions extends CallOptions {
  readonly onProgress?: (progress: Progress) => void;
}

/** What the service tells someone who downloads an artifact. */
export type GotArtifact = Omit<Download, "url" | "expires_at">;

export interface Got {
  /** The bytes. The stream ends with an error if they do not have the digest `artifact.sha256`. */
  readonly body: ReadableStream<Uint8Array>;
  readonly artifact: GotArtifact;
}

export async function get(
  connection: Connection,
  target: Target,
  options: GetOptions = {},
): Promise<Got> {
  const opened = await openTarget(connection, target, options);
  // The URL is a credential.
  const { url: _, expires_at: _end, ...artifact } = opened;
  const artifact_id = parseArtifactId(opened.artifact_id);
  const { onProgress } = options;
  // Open it again by its id, because the key may name a newer artifact by then.
  const again = "grantToken" in parseTarget(target) ? target : { artifactId: artifact_id };
  const body = verifiedBytes(
    opened,
    () => openTarget(connection, again, options),
    {
      fetch: connection.fetch,
      retrySeconds: options.retrySeconds ?? connection.retrySeconds,
      onRetry: connection.onRetry,
      onBytes: onProgress &&
        ((bytes) => onProgress({ phase: "download", bytes, size: opened.size })),
      signal: connection.signalOf(options),
    },
  );
  return { body, artifact };
}

/** A download URL for a target. */
async function openTarget(
  connection: Connection,
  target: Target,
  options: CallOptions,
): Promise<Download> {
  const named = parseTarget(target);
  if ("grantToken" in named) {
    return await connection.post<Download>("/fetch", {
      grant_token: named.grantToken,
    }, options);
  }
  if ("artifactId" in named) {
    return await connection.post<Download>("/open", {
      artifact_id: named.artifactId,
    }, options);
  }
  const { key, agentId = connection.agentId, version } = named;
  const owner = agentId === undefined ? {} : { agent_id: agentId };
  if (version !== undefined) {
    return await connection.post<Download>("/open", { key, ...owner, version }, options);
  }
  try {
    return await connection.post<Download>("/open", { key, ...owner }, options);
  } catch (error) {
    if (!isFromBeforeKeys(error)) throw error;
    const artifact_id = agentId === connection.agentId
      ? await ownArtifactId(connection, { key }, options)
      : await grantedArtifactId(connection, { key, agentId }, options);
    return await connection.post<Download>("/open", { artifact_id }, options);
  }
}

/** Whether the deployment is too old to open an artifact by its key. */
function isFromBeforeKeys(error: unknown): boolean {
  if (!(error instanceof AgentError) || error.code !== "invalid_request") {
    return false;
  }
  const { issues = [] } = (error.details ?? {}) as {
    issues?: { path: string }[];
  };
  return issues.some(({ path }) => path === "artifact_id");
}

/** The newest artifact of a key that its owner granted to the caller. */
async function grantedArtifactId(
  connection: Connection,
  { key, agentId }: {
    readonly key: string;
    readonly agentId: string | undefined;
  },
  options: CallOptions,
): Promise<string> {
  const self = connection.agentId === undefined ? {} : { agent_id: connection.agentId };
  const pages = everyPage((cursor) =>
    connection.post<ArtifactsAnswer<"/inbox">>(
      "/inbox",
      { ...self, ...cursor },
      options,
    )
  );
  for await (const { grants } of pages) {
    const grant = grants.find((entry) => entry.from_agent === agentId && entry.key === key);
    if (grant !== undefined) return grant.artifact_id;
  }
  throw artifactNotFound();
}

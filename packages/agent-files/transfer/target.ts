import type { Artifact, ArtifactsAnswer } from "../contract/types.ts";
import { AgentError, invalidFields } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { everyPage } from "../http/pages.ts";

/**
 * An artifact by its id, or a version of a key: the current one, unless `version` is set. The key
 * is the caller's own, or another `agentId`'s.
 */
export type NamedArtifact =
  | { readonly artifactId: string }
  | { readonly key: string; readonly agentId?: string; readonly version?: number };

/**
 * What to get: an artifact, or what a grant token gives. The form of a text decides what it is:
 * `art_…`, `g_…`, else a key.
 */
export type Target = string | NamedArtifact | { readonly grantToken: string };

const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;
const GRANT_TOKEN = /^g_[A-Za-z0-9_-]{43}$/;

export function parseTarget(target: Target): Exclude<Target, string> {
  if (typeof target !== "string") return target;
  if (ARTIFACT_ID.test(target)) return { artifactId: target };
  return GRANT_TOKEN.test(target) ? { grantToken: target } : { key: target };
}

/**
 * Checks an artifact id from an answer, so that it is safe in a path. Throws `unexpected_answer` if
 * it has another form.
 */
export function parseArtifactId(text: string): string {
  if (ARTIFACT_ID.test(text)) return text;
  throw new AgentError({
    code: "unexpected_answer",
    message: "The service answered with an invalid artifact id.",
    status: 200,
  });
}

/** The id of the caller's own artifact that a target names now. Throws `artifact_not_found`. */
export async function ownArtifactId(
  connection: Connection,
  target: Target,
  options: CallOptions,
): Promise<string> {
  const named = parseTarget(target);
  if ("artifactId" in named) return named.artifactId;
  if (!("key" in named)) {
    const message = "Must be an artifact id or a key: a grant token cannot name your own artifact.";
    throw invalidFields([{ path: "target", message }]);
  }
  const agentId = named.agentId ?? connection.agentId;
  if (named.version !== undefined) {
    return await idOfVersion(connection, { ...named, agentId, version: named.version }, options);
  }
  const list = (prefix: string, limit: number) =>
    connection.post<ArtifactsAnswer<"/list">>("/list", {
      ...(agentId !== undefined && { agent_id: agentId }),
      prefix,
      limit,
    }, options);
  const { artifacts: [first] } = await list(named.key, 1);
  // In byte order, a key comes before all longer keys that begin with it.
  if (first?.key === named.key) return first.artifact_id;
  // Only a name that is not ASCII can be spelled in another way. What is shared or deleted is never
  // guessed.
  const ascii = /^[ -~]*/.exec(named.key)![0];
  if (ascii === named.key) throw artifactNotFound();
  const composed = named.key.normalize("NFC");
  // An accent belongs to the letter before it, which may be in ASCII.
  const { artifacts } = await list(ascii.slice(0, -1), 1000);
  throw artifactNotFound(artifacts.filter(({ key }) => key.normalize("NFC") === composed));
}

async function idOfVersion(
  connection: Connection,
  { key, agentId, version }: {
    readonly key: string;
    readonly agentId: string | undefined;
    readonly version: number;
  },
  options: CallOptions,
): Promise<string> {
  const pages = everyPage((cursor) =>
    connection.post<ArtifactsAnswer<"/versions">>("/versions", {
      key,
      limit: 1000,
      ...cursor,
      ...(agentId !== undefined && { agent_id: agentId }),
    }, options)
  );
  for await (const { versions } of pages) {
    const found = versions.find((artifact) => artifact.version === version);
    if (found !== undefined) return found.artifact_id;
  }
  throw artifactNotFound();
}

/** `sameLooking` are those whose names are other Unicode spellings of the given one. */
export function artifactNotFound(
  sameLooking: readonly Pick<Artifact, "artifact_id">[] = [],
): AgentError {
  const ids = sameLooking.map(({ artifact_id }) => artifact_id);
  return new AgentError({
    code: "artifact_not_found",
    message: ids.length === 0
      ? "There is no such artifact, or it is not yours."
      : "There is no such artifact, only one whose name looks the same, in another Unicode " +
        `spelling. Use its id: ${ids.join(", ")}.`,
    status: 404,
    ...(ids.length > 0 && { details: { same_looking: ids } }),
  });
}

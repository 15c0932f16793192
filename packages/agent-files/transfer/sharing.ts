import type { ArtifactsRequest, Grant } from "../contract/types.ts";
import { type FieldIssue, invalidFields } from "../errors/agent_error.ts";
import type { CallOptions } from "../http/connection_options.ts";

/** What a grant says to its grantee, for whom it is also a task. */
export interface HandOverOptions {
  /** What to do with the file, for example: up to 2,000 characters. */
  readonly note?: string;
  /** The grant that this one answers, such as the `id` of a task. */
  readonly replyTo?: string;
  /** With a tag: `one` if exactly one of its agents is to work on it. Default: `each` of them. */
  readonly deliver?: "each" | "one";
  /** After how many failed attempts the task is parked, from 1 to 100. Default: 5. */
  readonly maxAttempts?: number;
  /** For 24 hours, the same request with this key makes no second grant. */
  readonly idempotencyKey?: string;
  /** Whether to refuse an agent whose name nobody has had so far. No effect on tags. */
  readonly knownOnly?: boolean;
}

export interface ShareOptions extends CallOptions, HandOverOptions {
  /** When the access ends. Default: when the artifact expires. */
  readonly expiresAt?: Date | string;
  /** How many downloads it gives, from 1 to 1000. Default: any number. */
  readonly maxDownloads?: number;
}

/** A grant for anyone with its URL. */
export type ShareLink = Grant & { readonly url: string };

/** An agent by its identifier, or every agent that has a tag such as `tag:builder`. */
export type Grantee = string | { readonly tag: string };

/** The fields of a request that name a grantee. */
export function granteeOf(
  grantee: Grantee,
): { readonly to_agent: string } | { readonly to_tag: string } {
  return typeof grantee === "string" ? { to_agent: grantee } : { to_tag: grantee.tag };
}

type GrantFields = Omit<ArtifactsRequest<"/grant">, "artifact_id" | "expires_at">;

/** The fields of a grant as work. Only those that are set: an earlier release refuses them. */
export function handOverFields(
  { note, replyTo, deliver, maxAttempts, idempotencyKey, knownOnly }: HandOverOptions,
): GrantFields {
  return {
    ...(note !== undefined && { note }),
    ...(replyTo !== undefined && { reply_to: replyTo }),
    ...(deliver !== undefined && { deliver }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(knownOnly && { known_only: true }),
  };
}

/**
 * As `expires_at`, it means "as long as the artifact": a grant ends with its artifact at the
 * latest.
 */
const AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z";

/** The fields of a grant but its artifact. If `to` is null, anyone with the token has access. */
export function shareFields(
  to: Grantee | null,
  { expiresAt: until = AS_LONG_AS_THE_ARTIFACT, maxDownloads, ...options }: ShareOptions,
): Omit<ArtifactsRequest<"/grant">, "artifact_id"> {
  return {
    expires_at: typeof until === "string" ? until : until.toISOString(),
    ...(to !== null && granteeOf(to)),
    ...(maxDownloads !== undefined && { max_downloads: maxDownloads }),
    ...handOverFields(options),
  };
}

/**
 * The fields of the grants to several agents and tags, each with its own. `deliver` is for tags
 * only. Throws `invalid_request` for what only the grants would show, after the upload.
 */
export function grantsOf(
  { to = [], toTags = [], ...options }: HandOverOptions & {
    readonly to?: readonly string[] | undefined;
    readonly toTags?: readonly string[] | undefined;
  },
): GrantFields[] {
  const { deliver: _, ...forAgents } = handOverFields(options);
  const issues: FieldIssue[] = [];
  if (options.deliver === "one" && toTags.length === 0) {
    issues.push({ path: "deliver", message: "Needs a tag in toTags, unless it is each." });
  }
  if (options.idempotencyKey !== undefined && to.length + toTags.length !== 1) {
    issues.push({ path: "idempotencyKey", message: "Needs exactly one agent or tag." });
  }
  const isForNobody = to.length + toTags.length === 0;
  const { idempotency_key: _key, known_only: _known, ...forWorkers } = forAgents;
  if (isForNobody && Object.keys(forWorkers).length > 0) {
    issues.push({ path: "to", message: "Required for a note, replyTo or maxAttempts." });
  }
  if (issues.length > 0) throw invalidFields(issues);
  return [
    ...to.map((to_agent) => ({ ...forAgents, to_agent })),
    ...toTags.map((to_tag) => ({ ...handOverFields(options), to_tag })),
  ];
}

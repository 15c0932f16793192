/**
 * What an error code of the wire contract stands for. Its sentence is in error_body.ts, which the
 * first error loads, so that no cold start reads the sentences.
 */
interface ErrorEntry {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 422 | 429 | 500 | 503;
  /** Present if the same request, unchanged, can succeed later. */
  readonly retryAfterSeconds?: number;
}

const CATALOGUE = {
  invalid_json: { status: 400 },
  unauthenticated: { status: 401 },
  superseded: { status: 401 },
  enrolment_refused: { status: 401 },
  token_replayed: { status: 401 },
  forbidden: { status: 403 },
  not_found: { status: 404 },
  artifact_not_found: { status: 404 },
  grant_not_found: { status: 404 },
  peer_not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  upload_missing: { status: 409 },
  artifact_not_committed: { status: 409 },
  already_committed: { status: 409 },
  commit_in_progress: { status: 409, retryAfterSeconds: 1 },
  agent_name_taken: { status: 409 },
  policy_changed: { status: 409 },
  policy_rule: { status: 409 },
  pubkey_in_use: { status: 409 },
  network_full: { status: 409 },
  quota_exceeded: { status: 409 },
  limit_exceeded: { status: 409 },
  idempotency_conflict: { status: 409 },
  artifact_expired: { status: 410 },
  artifact_lost: { status: 410 },
  grant_expired: { status: 410 },
  grant_revoked: { status: 410 },
  grant_used_up: { status: 410 },
  body_too_large: { status: 413 },
  invalid_request: { status: 422 },
  position_expired: { status: 422 },
  size_mismatch: { status: 422 },
  checksum_mismatch: { status: 422 },
  rate_limited: { status: 429, retryAfterSeconds: 1 },
  internal: { status: 500 },
  upstream_unavailable: { status: 503, retryAfterSeconds: 2 },
  maintenance: { status: 503, retryAfterSeconds: 30 },
  misconfigured: { status: 503 },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof CATALOGUE;

/** The codes alone, for the OpenAPI document. */
export const ERROR_CODES = Object.keys(CATALOGUE) as readonly ErrorCode[];

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(CATALOGUE, text);
}

export interface ServiceErrorOptions {
  /** Replaces the catalogue's message by a more precise one. */
  readonly message?: string;
  /** Facts for the caller's program. Never a secret, SQL text or storage path. */
  readonly details?: unknown;
  /** Replaces the catalogue's value if the time is known. */
  readonly retryAfterSeconds?: number;
  /** The cause. It appears only in the log. */
  readonly cause?: unknown;
}

/** An error of the catalogue. Thrown anywhere, rendered in one place (`errorResponse`). */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** What replaces the catalogue's message. Undefined: nothing. */
  readonly ownMessage: string | undefined;
  readonly details: unknown;
  /** Present if the same request, unchanged, can succeed later. */
  readonly retryAfterSeconds: number | undefined;

  constructor(readonly code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(options.message ?? code, { cause: options.cause });
    this.ownMessage = options.message;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds ?? errorEntry(code).retryAfterSeconds;
  }
}

/** The catalogue's entry of a code. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return CATALOGUE[code];
}

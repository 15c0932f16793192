/** What an error code of the wire contract stands for. */
interface ErrorEntry {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 422 | 429 | 500 | 503;
  readonly message: string;
  /** Present if the same request, unchanged, can succeed later. */
  readonly retryAfterSeconds?: number;
}

const CATALOGUE = {
  invalid_json: { status: 400, message: "The request body must be a JSON object." },
  unauthenticated: {
    status: 401,
    message:
      "The credential is missing, unknown, expired or revoked. Send an agent key or a signed-in user's token as `Authorization: Bearer …`, or the project's secret key as `apikey`.",
  },
  superseded: {
    status: 401,
    message:
      "A newer enrolment of this agent has ended this agent key. If the agent runs twice, stop one of the two.",
  },
  enrolment_refused: {
    status: 401,
    message: "This enrolment key or token is refused. `deno task events` tells the operator why.",
  },
  token_replayed: {
    status: 401,
    message: "This token was used already. Get a new one from its issuer.",
  },
  forbidden: {
    status: 403,
    message: "This agent may not do that, or not on behalf of another agent.",
  },
  not_found: { status: 404, message: "There is no such operation. See GET /openapi.json." },
  artifact_not_found: { status: 404, message: "There is no such artifact, or it is not yours." },
  grant_not_found: { status: 404, message: "There is no such grant, or it is not yours." },
  peer_not_found: {
    status: 404,
    message: "There is no such peer. An agent joins with /peer/register.",
  },
  method_not_allowed: {
    status: 405,
    message: "This path accepts only the methods in the `allow` header.",
  },
  upload_missing: {
    status: 409,
    message: "Nothing has been uploaded yet. PUT the bytes to `upload_url`, then commit.",
  },
  artifact_not_committed: { status: 409, message: "The artifact is not committed yet." },
  already_committed: {
    status: 409,
    message:
      "The artifact was committed with another SHA-256. For other bytes, register a new one.",
  },
  commit_in_progress: {
    status: 409,
    message: "This artifact is being verified. Send the same request again.",
    retryAfterSeconds: 1,
  },
  agent_name_taken: {
    status: 409,
    message:
      "This name belongs to another way in: to the operator, to another enrolment, or to the project's users. Only the operator can hand it over.",
  },
  policy_changed: {
    status: 409,
    message: "The project has changed since the plan. Plan the policy again.",
  },
  policy_rule: {
    status: 409,
    message: "The operator's policy has this rule: it cannot be revoked.",
  },
  pubkey_in_use: {
    status: 409,
    message:
      "Another agent has this public key, or had it within the last day. Make a new key pair and register its public key.",
  },
  network_full: { status: 409, message: "The mesh has no free address left." },
  quota_exceeded: { status: 409, message: "The agent's quota has no room for this artifact." },
  limit_exceeded: { status: 409, message: "A limit has been reached; see `details`." },
  artifact_expired: { status: 410, message: "The artifact has expired or was deleted." },
  artifact_lost: {
    status: 410,
    message:
      "Storage has lost the bytes of this artifact. Its owner can register and upload them again.",
  },
  grant_expired: { status: 410, message: "The grant has expired." },
  grant_revoked: { status: 410, message: "The grant was revoked." },
  grant_used_up: {
    status: 410,
    message: "The grant allows no more downloads. Ask its owner for another one.",
  },
  body_too_large: { status: 413, message: "The request body may have at most 64 KiB." },
  invalid_request: {
    status: 422,
    message: "Some fields are invalid; see `details`.",
  },
  position_expired: {
    status: 422,
    message:
      "This position is from before the database was restored. Start over without it: read what is there now, and go on from that answer's `latest`.",
  },
  size_mismatch: {
    status: 422,
    message:
      "The stored object does not have the registered size. PUT the right bytes, then commit.",
  },
  checksum_mismatch: {
    status: 422,
    message: "The stored bytes do not have the given SHA-256. PUT the right bytes, then commit.",
  },
  rate_limited: {
    status: 429,
    message:
      "Too many requests with this agent key, user, grant token or address; see `details`. Wait, then send the same request again.",
    retryAfterSeconds: 1,
  },
  internal: {
    status: 500,
    message: "Something went wrong in the service. Its log has the cause under `request_id`.",
  },
  upstream_unavailable: {
    status: 503,
    message: "The database or Storage did not answer. Send the same request again.",
    retryAfterSeconds: 2,
  },
  maintenance: {
    status: 503,
    message: "The service is closed for maintenance. Send the same request again later.",
    retryAfterSeconds: 30,
  },
  misconfigured: { status: 503, message: "The service is not fully configured." },
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
  readonly details: unknown;
  /** Present if the same request, unchanged, can succeed later. */
  readonly retryAfterSeconds: number | undefined;

  constructor(readonly code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(options.message ?? CATALOGUE[code].message, { cause: options.cause });
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds ?? errorEntry(code).retryAfterSeconds;
  }
}

/** The catalogue's entry of a code. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return CATALOGUE[code];
}

/** The response of an error, with the headers that belong to its status. */
export function errorResponse(error: ServiceError, requestId: string): Response {
  const entry = errorEntry(error.code);
  const headers = new Headers();
  if (entry.status === 401) headers.set("www-authenticate", "Bearer");
  if (error.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(error.retryAfterSeconds));
  }
  return Response.json(errorBody(error, requestId), { status: entry.status, headers });
}

/** The error envelope of the wire contract. */
export function errorBody({ code, message, details }: ServiceError, requestId: string): object {
  return {
    error: {
      code,
      message,
      retryable: errorEntry(code).retryAfterSeconds !== undefined,
      request_id: requestId,
      ...(details === undefined ? {} : { details }),
    },
  };
}

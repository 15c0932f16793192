import type { ServiceErrorCode } from "../contract/types.ts";

/**
 * Errors that do not come from the service. Wrong arguments give the service's `invalid_request`.
 */
export type LocalErrorCode =
  /** The service cannot be reached, or the connection broke. `message` has URL and reason. */
  | "network_error"
  /** The function that was given as `key` failed; `cause` is what it threw. */
  | "key_unavailable"
  /** The file to put cannot be read; `cause` is the file system's error. */
  | "source_unreadable"
  /** The answer is not the service's, such as a gateway's page. */
  | "unexpected_answer"
  /** Storage refused the bytes; `details` say why. */
  | "upload_refused"
  /** The source has more or fewer bytes than its size says. */
  | "source_size_mismatch"
  /** The downloaded bytes are not those that were committed. */
  | "download_mismatch"
  /** No bytes came for too long, or the connection broke too often. */
  | "download_broken"
  /** The tar is damaged or not safe to extract; `details.entry` names the entry. */
  | "archive_refused"
  /** The path of the new folder is already taken. */
  | "target_exists"
  /** The service of `agent-files/testing` lacks it. */
  | "not_in_testing";

export interface AgentErrorFields {
  readonly code: ServiceErrorCode | LocalErrorCode;
  readonly message: string;
  /** The HTTP status; 0 where there was no answer. */
  readonly status?: number;
  readonly retryable?: boolean;
  readonly requestId?: string | null;
  readonly details?: unknown;
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
}

/**
 * Every error of this package, except the reason that an AbortSignal was aborted with.
 *
 * @example
 * ```ts
 * try {
 *   await files.get("plans/house.txt");
 * } catch (error) {
 *   if (!(error instanceof AgentError) || error.code !== "artifact_not_found") throw error;
 * }
 * ```
 */
export class AgentError extends Error {
  override readonly name: string = "AgentError";
  readonly code: ServiceErrorCode | LocalErrorCode;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** Whether the same call, unchanged, can succeed later. */
  readonly retryable: boolean;
  /** Names the request in the service's log. */
  readonly requestId: string | null;
  /** Facts for a program. Their shape depends on `code`. */
  readonly details: unknown;
  /** How long the service asks to wait before the same call. */
  readonly retryAfterSeconds: number | null;

  constructor(fields: AgentErrorFields) {
    super(fields.message, { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status ?? 0;
    this.retryable = fields.retryable ?? false;
    this.requestId = fields.requestId ?? null;
    this.details = fields.details ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
  }
}

/** Temporary errors of gateways and of Storage. Supabase itself defines 544 and 546. */
const PASSING = new Set([408, 423, 425, 429, 500, 502, 503, 504, 544, 546]);

export function isPassing(status: number): boolean {
  return PASSING.has(status);
}

/** The error for a function's answer that is not a success. */
export function errorOfAnswer(response: Response, text: string): AgentError {
  const common = {
    status: response.status,
    requestId: response.headers.get("x-request-id"),
    retryAfterSeconds: retryAfterOf(response),
  };
  const error = parseEnvelope(text);
  if (error !== null) {
    return new AgentError({
      ...common,
      code: error.code,
      message: withIssues(error),
      retryable: error.retryable,
      details: error.details,
    });
  }
  return new AgentError({
    ...common,
    code: "unexpected_answer",
    message: `HTTP ${response.status}, but not from the service. Check the URL.`,
    retryable: isPassing(response.status),
    details: { body: text.slice(0, 200) },
  });
}

/** One field that breaks a rule, as in the `details` of `invalid_request`. */
export interface FieldIssue {
  readonly path: string;
  readonly message: string;
}

/** The error for arguments that break a rule, before anything is sent. */
export function invalidFields(issues: readonly FieldIssue[]): AgentError {
  const [message, details] = [sentenceOf(issues), { issues }];
  return new AgentError({ code: "invalid_request", message, details });
}

interface Envelope {
  readonly code: ServiceErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: unknown;
}

function parseEnvelope(text: string): Envelope | null {
  try {
    const { error } = JSON.parse(text);
    return typeof error.code === "string" && typeof error.message === "string" ? error : null;
  } catch {
    return null;
  }
}

/** One sentence for each field that broke a rule, or the message if the service names no fields. */
function withIssues({ message, details }: Envelope): string {
  const { issues } = (details ?? {}) as {
    readonly issues?: readonly FieldIssue[];
  };
  return Array.isArray(issues) && issues.length > 0 ? sentenceOf(issues) : message;
}

function sentenceOf(issues: readonly FieldIssue[]): string {
  return issues.map(({ path, message }) => `${path}: ${message}`).join(" ");
}

/** Null if the header is missing, or is not a number of seconds. */
export function retryAfterOf({ headers }: Response): number | null {
  const retryAfter = headers.get("retry-after");
  return retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
}

import type { ServiceErrorCode } from "../contract/types.ts";

/** What can go wrong on this side, or between the two. */
export type LocalErrorCode =
  /** Nothing answered. */
  | "network_error"
  /** An answer that is not the service's: a gateway's, or no JSON. */
  | "unexpected_answer"
  /** Storage refused the bytes; `details` say why. */
  | "upload_refused"
  /** The source had more or fewer bytes than it said. */
  | "source_size_mismatch"
  /** What was downloaded is not what was committed. */
  | "download_mismatch"
  /** No bytes came for too long, or the connection broke too often. */
  | "download_broken"
  /** A tar that is not safe to extract, or damaged; `details.entry` names what in it. */
  | "archive_refused"
  /** There is something already where a folder was to be made. */
  | "target_exists";

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

/** Every error of this package, but for what an AbortSignal was aborted with. */
export class AgentError extends Error {
  override readonly name: string = "AgentError";
  readonly code: ServiceErrorCode | LocalErrorCode;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** Whether the same call can succeed later, unchanged. */
  readonly retryable: boolean;
  /** Names the request in the service's log. */
  readonly requestId: string | null;
  /** Facts for a program; what they are depends on `code`. */
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

/** Statuses of gateways and of Storage that pass: 544 and 546 are Supabase's own. */
const PASSING = new Set([408, 423, 425, 429, 500, 502, 503, 504, 544, 546]);

export function isPassing(status: number): boolean {
  return PASSING.has(status);
}

/** The error that an answer of a function is. */
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
      message: error.message,
      retryable: error.retryable,
      details: error.details,
    });
  }
  return new AgentError({
    ...common,
    code: "unexpected_answer",
    message: `The service's address answered HTTP ${response.status}, and not as the service does.`,
    retryable: isPassing(response.status),
    details: { body: text.slice(0, 200) },
  });
}

/** What `fetch` threw; what the caller's own signal was aborted with stays as it is. */
export function errorOfFetch(cause: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (cause instanceof AgentError) return cause;
  return new AgentError({
    code: "network_error",
    message: "The service did not answer.",
    retryable: true,
    cause,
  });
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

/** Null where an answer does not say so in seconds. */
export function retryAfterOf({ headers }: Response): number | null {
  const retryAfter = headers.get("retry-after");
  return retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
}

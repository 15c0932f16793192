import { isErrorCode, ServiceError } from "../request/errors.ts";

/**
 * The body of an error of PostgREST. `code` is empty if another server answered. `code` and
 * `message` are empty if the database broke off the call.
 */
export interface PostgrestError {
  /** An SQLSTATE, or one of PostgREST's own. */
  readonly code: string;
  readonly message: string;
  readonly details: string | null;
  readonly hint: string | null;
}

/**
 * Deadlock, lock not available, statement timeout: the whole transaction was rolled back, and may
 * succeed later.
 */
const TRANSIENT_SQLSTATES: ReadonlySet<string> = new Set(["40P01", "55P03", "57014"]);

/** PostgREST could not reach the database, or had no free connection (its errors of group 0). */
const POSTGREST_CONNECTION_CODES: ReadonlySet<string> = new Set([
  "PGRST000",
  "PGRST001",
  "PGRST002",
  "PGRST003",
]);

/** PostgREST rejects the key: it cannot be verified, is missing, or has expired. */
const POSTGREST_KEY_CODES: ReadonlySet<string> = new Set(["PGRST301", "PGRST302", "PGRST303"]);

/** PostgREST finds no function with this name and these parameters. */
const POSTGREST_UNKNOWN_FUNCTION = "PGRST202";

/** Parses the body of an answer that has an error status. */
export function parsePostgrestError(body: string): PostgrestError {
  const parsed: unknown = parseJson(body);
  const { code, message, details, hint } = (parsed ?? {}) as Record<string, unknown>;
  return {
    code: typeof code === "string" ? code : "",
    message: typeof message === "string" ? message : "",
    details: typeof details === "string" ? details : null,
    hint: typeof hint === "string" ? hint : null,
  };
}

/** Whether the whole transaction was rolled back, and may succeed when it is repeated at once. */
export function isTransient({ code }: PostgrestError): boolean {
  return TRANSIENT_SQLSTATES.has(code);
}

/** The catalogue's error for what PostgREST answered. */
export function serviceErrorOf(error: PostgrestError, status: number): ServiceError {
  const cause = new Error(`PostgREST answered ${status} ${error.code}: ${error.message}`);
  // Every SQL function of this project raises errors by `raise sqlstate 'PTnnn' using message =
  // '<code>', detail = '<json>', hint = '<sentence>'`; detail and hint may be left out.
  if (/^PT\d{3}$/.test(error.code) && isErrorCode(error.message)) {
    const details = parseJson(error.details ?? "");
    return new ServiceError(error.message, {
      cause,
      ...(details === undefined ? {} : { details }),
      ...(error.hint ? { message: error.hint } : {}),
    });
  }
  if (error.code === POSTGREST_UNKNOWN_FUNCTION) {
    return new ServiceError("misconfigured", {
      cause,
      message: "The database does not have this release's functions. Apply the migrations.",
    });
  }
  const isRefusedByGateway = !error.code && error.message && (status === 401 || status === 403);
  if (isRefusedByGateway || POSTGREST_KEY_CODES.has(error.code)) {
    return new ServiceError("misconfigured", {
      cause,
      message:
        "The project rejects the secret key that this function sends to the database. Deploy the functions again, so that they get the project's current secret keys. If you set SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY yourself, set it to a secret key of this project.",
    });
  }
  // Without a code, a proxy before PostgREST answered, or nothing did. PostgREST itself answers
  // with status 400 and neither code nor message if PostgreSQL ends its backends during a call.
  const unanswered = !error.code &&
    (!error.message || status === 0 || status === 429 || status >= 500);
  const unreachable = unanswered ||
    isTransient(error) || POSTGREST_CONNECTION_CODES.has(error.code) ||
    // SQLSTATE classes 08 (connection), 53 (resources), 57P (the server goes down or comes up).
    /^(08|53|57P)/.test(error.code);
  return new ServiceError(unreachable ? "upstream_unavailable" : "internal", { cause });
}

/** Undefined if `text` is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

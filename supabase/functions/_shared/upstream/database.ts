import { PostgrestClient, type PostgrestError } from "@supabase/postgrest-js";
import { isErrorCode, ServiceError } from "../errors.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import { fetchWithDeadline, serviceHeaders } from "./fetch.ts";

/** Calls one SQL function, in one transaction. Gives back the one JSON value that it returns. */
export type CallDatabase = <Result>(
  functionName: string,
  parameters: Readonly<Record<string, unknown>>,
) => Promise<Result>;

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

/** PostgREST does not take the key: it cannot be verified, is missing, or has expired. */
const POSTGREST_KEY_CODES: ReadonlySet<string> = new Set(["PGRST301", "PGRST302", "PGRST303"]);

/** PostgREST knows no function of this name and these parameters. */
const POSTGREST_UNKNOWN_FUNCTION = "PGRST202";

/**
 * The project's PostgREST, called with the service's own key. The SQL functions are in `public`,
 * which the project need not list first.
 */
export function createDatabaseClient(settings: PlatformSettings): PostgrestClient {
  return new PostgrestClient(`${settings.supabaseUrl}/rest/v1`, {
    headers: serviceHeaders(settings),
    fetch: fetchWithDeadline,
    schema: "public",
  });
}

/**
 * Calls SQL functions by PostgREST. Throws ServiceError for the errors that they raise. After a
 * transient failure of the database it calls once more, then throws upstream_unavailable.
 */
export function createCallDatabase(client: PostgrestClient): CallDatabase {
  return async <Result>(
    functionName: string,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<Result> => {
    let answer = await client.rpc(functionName, parameters);
    if (answer.error && TRANSIENT_SQLSTATES.has(answer.error.code)) {
      answer = await client.rpc(functionName, parameters);
    }
    if (answer.error) throw serviceErrorOf(answer.error, answer.status);
    return answer.data as Result;
  };
}

/** The catalogue's error for what PostgREST answered. Exported for its test. */
export function serviceErrorOf(error: PostgrestError, status: number): ServiceError {
  const cause = new Error(`PostgREST answered ${status} ${error.code}: ${error.message}`);
  // `raise sqlstate 'PTnnn' using message = '<code>', detail = '<json>', hint = '<sentence>'`, as
  // every function here does; detail and hint may be left out.
  if (/^PT\d{3}$/.test(error.code) && isErrorCode(error.message)) {
    const details = parseDetail(error.details);
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
  const isRefusedByGateway = !error.code && (status === 401 || status === 403);
  if (isRefusedByGateway || POSTGREST_KEY_CODES.has(error.code)) {
    return new ServiceError("misconfigured", {
      cause,
      message:
        "The project does not take the key that this function calls the database with. Deploy the functions again, so that they get the project's current keys. Where you set SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY yourself, set it to a key of this project.",
    });
  }
  // Without a code, something before PostgREST answered, or nothing at all.
  const unanswered = !error.code && (status === 0 || status === 429 || status >= 500);
  const unreachable = unanswered ||
    TRANSIENT_SQLSTATES.has(error.code) || POSTGREST_CONNECTION_CODES.has(error.code) ||
    // SQLSTATE classes 08 (connection), 53 (resources), 57P (the server goes down or comes up).
    /^(08|53|57P)/.test(error.code);
  return new ServiceError(unreachable ? "upstream_unavailable" : "internal", { cause });
}

function parseDetail(detail: string | null): unknown {
  if (!detail) return undefined;
  try {
    return JSON.parse(detail);
  } catch {
    return undefined;
  }
}

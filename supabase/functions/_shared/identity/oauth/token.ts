import { errorResponse, messageOf } from "../../request/error_body.ts";
import { ServiceError } from "../../request/errors.ts";
import type { Operation } from "../../operations/operation.ts";
import { runOperation } from "../../operations/run_operation.ts";
import type { Admission, AppContext } from "../../request/pipeline.ts";
import { inTime, readBody } from "../../request/reading/request_body.ts";

const FORM = "application/x-www-form-urlencoded";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const SUBJECT_TOKEN_TYPES: readonly unknown[] = [
  "urn:ietf:params:oauth:token-type:jwt",
  "urn:ietf:params:oauth:token-type:id_token",
];

const MAX_READING_MILLISECONDS = 10_000;

/** RFC 6749, 5.1. Every answer of the service also has the `cache-control` that it requires. */
const FOR_OLD_CACHES = { pragma: "no-cache" };

/** RFC 6749, 5.2. The last two, for failures of the service, are from 4.1.2.1. */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "temporarily_unavailable"
  | "server_error";

class OAuthError extends Error {
  constructor(readonly code: OAuthErrorCode, message: string) {
    super(message);
  }
}

/** The fields of /enroll's answer that are used here. */
interface Enrolled {
  readonly key: string;
  readonly expires_at: string;
}

/**
 * Answers a token request of OAuth 2.0 by means of /enroll. The request has a JWT as an
 * authorization grant (RFC 7523, 2.1) or for a token exchange (RFC 8693, 2.1). The access token in
 * the answer is an agent key. Errors are those of RFC 6749, 5.2.
 */
export async function answerTokenRequest(
  context: AppContext,
  { loadEnroll, admission }: {
    readonly loadEnroll: () => Promise<Operation>;
    readonly admission: Admission;
  },
): Promise<Response> {
  const request = context.req.raw;
  const requestId = context.get("requestId");
  try {
    const { isExchange, body } = enrolmentOf(await readForm(request));
    const { key, expires_at } = await runOperation(await loadEnroll(), {
      body,
      caller: null,
      requestId,
      request,
      slot: context.get("slot"),
      rateLimits: admission.rateLimits,
    }) as Enrolled;
    return Response.json({
      access_token: key,
      ...(isExchange && { issued_token_type: ACCESS_TOKEN }),
      token_type: "Bearer",
      expires_in: Math.max(0, Math.floor((Date.parse(expires_at) - Date.now()) / 1000)),
    }, { headers: FOR_OLD_CACHES });
  } catch (error) {
    context.set("error", error);
    return await answerOAuthError(error, requestId);
  }
}

/** Throws OAuthError, body_too_large, and invalid_json for a body that does not arrive in time. */
async function readForm(request: Request): Promise<ReadonlyMap<string, string>> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== FORM) throw new OAuthError("invalid_request", `The body must be ${FORM}.`);
  const bytes = await inTime(readBody(request), MAX_READING_MILLISECONDS);
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes))) {
    // RFC 6749, 3.2: a parameter must not occur twice, and one without a value counts as left out.
    if (form.has(name)) throw new OAuthError("invalid_request", `${nameOf(name)} is there twice.`);
    if (value !== "") form.set(name, value);
  }
  return form;
}

/** A parameter's name for an error message: RFC 6749, 5.2, restricts the characters. */
function nameOf(name: string): string {
  return /^[a-z_]{1,40}$/.test(name) ? name : "A parameter";
}

/** The request to /enroll that a form stands for. Throws OAuthError. */
function enrolmentOf(form: ReadonlyMap<string, string>): {
  readonly isExchange: boolean;
  readonly body: Record<string, unknown>;
} {
  const grantType = form.get("grant_type");
  const isExchange = grantType === TOKEN_EXCHANGE;
  if (grantType === undefined) throw new OAuthError("invalid_request", "grant_type is missing.");
  if (grantType !== JWT_BEARER && !isExchange) {
    const known = `${JWT_BEARER} and ${TOKEN_EXCHANGE}`;
    throw new OAuthError("unsupported_grant_type", `grant_type is one of ${known}.`);
  }
  const parameter = isExchange ? "subject_token" : "assertion";
  const token = form.get(parameter)?.trim();
  if (token === undefined) throw new OAuthError("invalid_request", `${parameter} is missing.`);
  if (isExchange) checkExchange(form);
  return {
    isExchange,
    body: {
      token,
      enrolment_id: form.get("enrolment_id"),
      agent_name: form.get("agent_name"),
      instance: form.get("instance"),
    },
  };
}

/** Throws OAuthError. */
function checkExchange(form: ReadonlyMap<string, string>): void {
  if (!SUBJECT_TOKEN_TYPES.includes(form.get("subject_token_type"))) {
    const known = SUBJECT_TOKEN_TYPES.join(" or ");
    throw new OAuthError("invalid_request", `subject_token_type must be ${known}.`);
  }
  if (![undefined, ACCESS_TOKEN].includes(form.get("requested_token_type"))) {
    throw new OAuthError("invalid_request", `requested_token_type must be ${ACCESS_TOKEN}.`);
  }
  if (form.has("actor_token")) {
    throw new OAuthError("invalid_request", "actor_token is not supported.");
  }
}

const REFUSED: Readonly<Partial<Record<ServiceError["code"], OAuthErrorCode>>> = {
  enrolment_refused: "invalid_grant",
  token_replayed: "invalid_grant",
  agent_name_taken: "invalid_grant",
  limit_exceeded: "invalid_grant",
  invalid_request: "invalid_request",
  invalid_json: "invalid_request",
  body_too_large: "invalid_request",
};

/** Errors of the request or token get status 400. Others keep their status and `retry-after`. */
export async function answerOAuthError(error: unknown, requestId: string): Promise<Response> {
  if (error instanceof OAuthError) return oauthResponse(error.code, error.message, { status: 400 });
  const known = error instanceof ServiceError ? error : new ServiceError("internal");
  const code = REFUSED[known.code];
  if (code !== undefined) return oauthResponse(code, messageOf(known), { status: 400 });
  if (known.code === "rate_limited") {
    await (await import("../../request/limits/hold_refusal.ts")).holdRefusal();
  }
  const { status, headers } = errorResponse(known, requestId);
  const retryAfter = headers.get("retry-after");
  return oauthResponse(
    retryAfter === null ? "server_error" : "temporarily_unavailable",
    messageOf(known),
    {
      status,
      ...(retryAfter !== null && { headers: { "retry-after": retryAfter } }),
    },
  );
}

function oauthResponse(
  error: OAuthErrorCode,
  description: string,
  { status, headers }: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Response {
  // RFC 6749, 5.2: printable ASCII without quotes and backslashes.
  const error_description = description.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
  return Response.json(
    { error, error_description },
    { status, headers: { ...FOR_OLD_CACHES, ...headers } },
  );
}

import type { Context } from "hono";

/** A refusal with a code of Auth's own (internal/api/apierrors). */
export class AuthError extends Error {
  constructor(
    readonly status: 400 | 401 | 403 | 404,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A refusal in OAuth's form (RFC 6749, 5.2). Auth always answers 400. */
export class OAuthError extends Error {
  constructor(readonly error: string, readonly description: string) {
    super(description);
  }
}

/** The version of its API that supabase-js asks for, and the one of requests that name none. */
const API_VERSION = "2024-01-01";
const FIRST_VERSION = "0001-01-01";

/** internal/api/errors.go. Throws what is no refusal. */
export function renderError(error: Error, context: Context): Response {
  if (error instanceof OAuthError) {
    return context.json({ error: error.error, error_description: error.description }, 400);
  }
  if (!(error instanceof AuthError)) throw error;
  const { status, code, message } = error;
  context.header("x-sb-error-code", code);
  const asked = context.req.header("x-supabase-api-version") ?? "";
  const isNew = /^\d{4}-\d\d-\d\d$/.test(asked) && asked >= API_VERSION;
  context.header("x-supabase-api-version", isNew ? API_VERSION : FIRST_VERSION);
  return context.json(
    isNew ? { code, message } : { code: status, error_code: code, msg: message },
    status,
  );
}

/** The statuses of the errors that the service in this process answers. */
const STATUSES = {
  artifact_expired: 410,
  artifact_not_committed: 409,
  artifact_not_found: 404,
  already_committed: 409,
  checksum_mismatch: 422,
  forbidden: 403,
  grant_expired: 410,
  grant_not_found: 404,
  grant_revoked: 410,
  grant_used_up: 410,
  idempotency_conflict: 409,
  invalid_request: 422,
  not_found: 404,
  not_in_testing: 501,
  size_mismatch: 422,
  take_lapsed: 409,
  unauthenticated: 401,
  upload_missing: 409,
} as const;

/** An error that is answered. */
export class Refusal extends Error {
  readonly code: keyof typeof STATUSES;
  readonly details: object | undefined;

  constructor(code: keyof typeof STATUSES, message: string = code, details?: object) {
    super(message);
    this.code = code;
    this.details = details;
  }

  answer(): Response {
    const { code, message, details } = this;
    const error = { code, message, retryable: false, request_id: "testing", details };
    return Response.json({ error }, { status: STATUSES[code] });
  }
}

/** Throws `invalid_request` unless a field keeps its rule. */
export function check(keepsIt: boolean, path: string, message: string): void {
  if (keepsIt) return;
  throw new Refusal("invalid_request", "A field breaks a rule.", { issues: [{ path, message }] });
}

/** Throws `invalid_request` unless a field is a whole number in a range. */
export function checkRange(value: unknown, path: string, least: number, most: number): void {
  const isInside = Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  check(isInside, path, `Must be a whole number from ${least} to ${most}.`);
}

import { type ErrorCode, errorEntry, type ServiceError } from "./errors.ts";

/** What a person is told, unless the error has a more precise sentence. */
const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  invalid_json: "The request body must be a JSON object.",
  unauthenticated:
    "The credential is missing, unknown, expired or revoked. Send an agent key or a signed-in user's token as `Authorization: Bearer …`, or the project's secret key as `apikey`.",
  superseded:
    "A newer enrolment of this agent has ended this agent key. If the agent runs twice, stop one of the two.",
  enrolment_refused:
    "This enrolment key or token is refused. `agentops events` tells the operator why.",
  token_replayed: "This token was used already. Get a new one from its issuer.",
  forbidden: "This agent may not do that, or not on behalf of another agent.",
  not_found: "There is no such operation. See GET /openapi.json.",
  artifact_not_found: "There is no such artifact, or it is not yours.",
  grant_not_found: "There is no such grant, or it is not yours.",
  peer_not_found: "There is no such peer. An agent joins with /peer/register.",
  method_not_allowed: "This path accepts only the methods in the `allow` header.",
  upload_missing: "Nothing has been uploaded yet. PUT the bytes to `upload_url`, then commit.",
  artifact_not_committed: "The artifact is not committed yet.",
  already_committed:
    "The artifact was committed with another SHA-256. For other bytes, register a new one.",
  commit_in_progress: "This artifact is being verified. Send the same request again.",
  agent_name_taken:
    "This name belongs to another way in: to the operator, to another enrolment, or to the project's users. Only the operator can hand it over.",
  policy_changed: "The project has changed since the plan. Plan the policy again.",
  policy_rule: "The operator's policy has this rule: it cannot be revoked.",
  pubkey_in_use:
    "Another agent has this public key, or had it within the last day. Make a new key pair and register its public key.",
  network_full: "The mesh has no free address left.",
  quota_exceeded: "The agent's quota has no room for this artifact.",
  limit_exceeded: "A limit has been reached; see `details`.",
  idempotency_conflict:
    "This `idempotency_key` was used for another request within the last 24 hours. Use a new one.",
  artifact_expired: "The artifact has expired or was deleted.",
  artifact_lost:
    "Storage has lost the bytes of this artifact. Its owner can register and upload them again.",
  grant_expired: "The grant has expired.",
  grant_revoked: "The grant was revoked.",
  grant_used_up: "The grant allows no more downloads. Ask its owner for another one.",
  body_too_large: "The request body may have at most 64 KiB.",
  invalid_request: "Some fields are invalid; see `details`.",
  position_expired:
    "This position is from before the database was restored. Start over without it: read what is there now, and go on from that answer's `latest`.",
  size_mismatch:
    "The stored object does not have the registered size. PUT the right bytes, then commit.",
  checksum_mismatch:
    "The stored bytes do not have the given SHA-256. PUT the right bytes, then commit.",
  rate_limited:
    "Too many requests with this agent key, user, grant token or address; see `details`. Wait, then send the same request again.",
  internal: "Something went wrong in the service. Its log has the cause under `request_id`.",
  upstream_unavailable: "The database or Storage did not answer. Send the same request again.",
  maintenance: "The service is closed for maintenance. Send the same request again later.",
  misconfigured: "The service is not fully configured.",
};

/** The same, if the limit in `details` is one that all agents of an enrolment share. */
const MESSAGES_OF_ENROLMENT: Partial<Readonly<Record<ErrorCode, string>>> = {
  quota_exceeded:
    "All agents of this agent's enrolment share a quota, which has no room for this artifact. Delete files, or ask the operator for more (`agentops enrolment limit`).",
  rate_limited:
    "Too many requests by all agents of this agent's enrolment together, which share a rate; see `details`. Wait, then send the same request again.",
};

/** The sentence of an error. */
export function messageOf({ code, ownMessage, details }: ServiceError): string {
  const { limit } = Object(details) as { limit?: unknown };
  const isOfEnrolment = typeof limit === "string" && limit.endsWith("_of_enrolment");
  return ownMessage ?? (isOfEnrolment ? MESSAGES_OF_ENROLMENT[code] : undefined) ?? MESSAGES[code];
}

/** The error envelope of the wire contract. */
export function errorBody(error: ServiceError, requestId: string): object {
  const { code, details } = error;
  return {
    error: {
      code,
      message: messageOf(error),
      retryable: errorEntry(code).retryAfterSeconds !== undefined,
      request_id: requestId,
      ...(details === undefined ? {} : { details }),
    },
  };
}

/** The response of an error, with the headers that belong to its status. */
export function errorResponse(error: ServiceError, requestId: string): Response {
  const { status } = errorEntry(error.code);
  const headers = new Headers();
  if (status === 401) headers.set("www-authenticate", "Bearer");
  if (error.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(error.retryAfterSeconds));
  }
  return Response.json(errorBody(error, requestId), { status, headers });
}

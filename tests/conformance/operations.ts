/**
 * Every operation of the wire contract, by function. `tests/unit/functions/routes_test.ts` compares
 * them with the paths that the functions have.
 */

/** The operations in the OpenAPI documents. A test compares the two. */
export const OPERATIONS = {
  "agent-artifacts": [
    "/commit",
    "/delete",
    "/enroll",
    "/events",
    "/fetch",
    "/grant",
    "/grants",
    "/inbox",
    "/inbox/block",
    "/inbox/unblock",
    "/leave",
    "/list",
    "/open",
    "/register",
    "/revoke",
    "/sweep",
    "/wait",
  ],
  "agent-mesh": [
    "/acl/put",
    "/acl/revoke",
    "/enroll",
    "/events",
    "/leave",
    "/netmap",
    "/peer/heartbeat",
    "/peer/register",
    "/peer/remove",
    "/psk/rotate",
    "/relay",
    "/wait",
    "/wg_config",
  ],
} as const;

/** Operations that only the operator's tasks call; the OpenAPI documents leave them out. */
export const UNLISTED = {
  "agent-artifacts": [
    "/enrolment/list",
    "/enrolment/put",
    "/enrolment/revoke",
    "/enrolment/test",
  ],
  "agent-mesh": [
    "/enrolment/list",
    "/enrolment/put",
    "/enrolment/revoke",
    "/enrolment/test",
    "/psk/keys",
  ],
} as const;

/** Operations whose credential is in the body: a grant token, or a proof. */
const WITHOUT_CREDENTIAL: readonly string[] = ["/fetch", "/enroll"];

/** Every path of a function that requires a credential, without the first slash, sorted. */
export function pathsWithCredential(name: keyof typeof OPERATIONS): string[] {
  return [...OPERATIONS[name], ...UNLISTED[name]]
    .filter((path) => !WITHOUT_CREDENTIAL.includes(path))
    .map((path) => path.slice(1))
    .sort();
}

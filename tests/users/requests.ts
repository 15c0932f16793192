/** Valid requests of every operation, sent with another credential. */
import { type Agent, type Answer, send } from "../conformance/client.ts";
import type { ValidRequest } from "../mutations/mutants.ts";

/** Operations that check only a grant token or a proof of origin. */
const UNIDENTIFIED = /^\/agent-artifacts\/(?:fetch$|d\/)|\/(?:enroll|token)$/;

export function isIdentified({ path }: ValidRequest): boolean {
  return !UNIDENTIFIED.test(path);
}

/** Sends the request with this bearer token instead of the agent key. */
export function sent(
  { method = "POST", path, headers, body }: ValidRequest,
  bearer: string,
): Promise<Answer> {
  return send(path, {
    method,
    headers: { ...headers, authorization: `Bearer ${bearer}` },
    ...(method === "POST" && { body: JSON.stringify(body) }),
  });
}

/**
 * The agents that send these requests, in the order of their first ones. Leaves the operator out.
 */
export async function agentsIn(requests: readonly ValidRequest[]): Promise<Agent[]> {
  const keys = new Set(requests.flatMap(({ headers }) => keyIn(headers) ?? []));
  return await Promise.all(Array.from(keys, async (key) => {
    const { body } = await send("/agent-artifacts/whoami", {
      headers: { authorization: `Bearer ${key}` },
    });
    return { id: String(body["agent_id"]), key, keyId: String(body["key_id"]) };
  }));
}

export function keyIn(headers: ValidRequest["headers"]): string | undefined {
  return headers["authorization"]?.replace("Bearer ", "");
}

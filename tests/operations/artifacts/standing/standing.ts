/** Standing grants in the arrangements of cards. */
import { secondsFromNow } from "../../../conformance/artifacts.ts";
import { type Agent, succeed } from "../../../conformance/client.ts";

export interface Standing {
  readonly standing_id: string;
  readonly key: string | null;
  readonly prefix: string | null;
  readonly to_agent: string | null;
  readonly to_tag?: string;
  readonly grant_days: number | null;
  readonly note: string | null;
  readonly deliver: "each" | "one";
  readonly created_at: string;
  readonly expires_at: string;
}

/** A standing grant of all files that begin with `prefix`, for ten minutes. */
export function createStanding(
  owner: Agent,
  fields: object,
): Promise<Standing & { readonly granted: number }> {
  const body = { expires_at: secondsFromNow(600), ...fields };
  return succeed("/agent-artifacts/standing/create", { as: owner, body });
}

/** The agent's standing grants, according to /standing/list. */
export async function standingOf(owner: Agent): Promise<Standing[]> {
  const path = "/agent-artifacts/standing/list";
  const body = { limit: 1000 };
  return (await succeed<{ standing_grants: Standing[] }>(path, { as: owner, body }))
    .standing_grants;
}

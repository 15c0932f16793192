import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { GivenGrant } from "../../agent-files/contract/types.ts";

/**
 * The live links that the agent has made, ordered by expiry: all, or those that match a grant id,
 * an artifact id or a file's name.
 */
export async function* liveLinks(
  files: AgentFiles,
  named?: string,
): AsyncGenerator<GivenGrant, void, undefined> {
  for await (const grant of files.grants()) {
    // A grant without a grantee belongs to a link.
    if (grant.to_agent !== null || grant.to_tag !== undefined) continue;
    const names = [grant.grant_id, grant.artifact_id, grant.key];
    if (named === undefined || names.includes(named)) yield grant;
  }
}

/** How often a link was used, such as `2 of 5`. */
export function usesOf({ downloads, max_downloads }: GivenGrant): string {
  return max_downloads === null ? String(downloads) : `${downloads} of ${max_downloads}`;
}

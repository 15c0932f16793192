import { UsageError } from "../../command/usage_error.ts";
import { instantCell } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { GrantRow } from "../reads/rows.ts";

/** The form of every artifact id. Any other text may name an agent, even `art_x`. */
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

export const grants: Operation = defineOperation({
  summary: "List the live grants, the first to expire first: who may read which artifact.",
  example: "agentops grants --of planner --to builder",
  options: {
    of: {
      type: "string",
      value: "AGENT|ARTIFACT_ID",
      help: "that this agent gave, or of this artifact",
    },
    to: { type: "string", value: "AGENT", help: "to this agent, or to a tag that it has" },
    "to-tag": { type: "string", value: "TAG", help: "to this tag" },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const { of = null, to, "to-tag": tag } = values;
    if (to !== undefined && tag !== undefined) {
      throw new UsageError("Give --to or --to-tag, not both.");
    }
    const isArtifact = of !== null && ARTIFACT_ID.test(of);
    await assertAgentIsNamed(isArtifact ? null : of, to);
    await showList<GrantRow>(output, {
      functionName: "list_all_grants",
      parameters: {
        from_agent: isArtifact ? null : of,
        artifact_id: isArtifact ? of : null,
        to_agent: to ?? null,
        to_tag: tag ?? null,
        by_tags: to !== undefined,
      },
      values,
    }, {
      heads: ["GRANT", "ARTIFACT", "FROM", "TO", "EXPIRES", "DOWNLOADS", "STANDING", "KEY"],
      cells: (grant) => [
        grant.grant_id,
        grant.artifact_id,
        grant.from_agent,
        grant.to_agent ?? grant.to_tag ?? "anyone with the link",
        instantCell(grant.expires_at),
        grant.max_downloads === null
          ? String(grant.downloads)
          : `${grant.downloads} of ${grant.max_downloads}`,
        grant.standing_id ?? "",
        grant.key,
      ],
    });
  },
});

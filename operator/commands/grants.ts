import { instantCell } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { runTask } from "../../local/command/run_task.ts";
import type { GrantRow } from "../reads/rows.ts";

/**
 * Every artifact id has this form. Anything else may be an agent, `art_x` too.
 */
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

await runTask({
  task: "grants",
  summary: "List the live grants: who may read which artifact, those that end first.",
  example: "deno task grants --of planner --to builder",
  options: {
    of: {
      type: "string",
      value: "AGENT|ARTIFACT_ID",
      help: "that this agent gave, or of this artifact",
    },
    to: { type: "string", value: "AGENT", help: "to this agent" },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const { of = null } = values;
    const isArtifact = of !== null && ARTIFACT_ID.test(of);
    await showList<GrantRow>(output, {
      functionName: "list_all_grants",
      parameters: {
        from_agent: isArtifact ? null : of,
        artifact_id: isArtifact ? of : null,
        to_agent: values.to ?? null,
      },
      values,
    }, {
      heads: ["GRANT", "ARTIFACT", "FROM", "TO", "EXPIRES", "DOWNLOADS", "KEY"],
      cells: (grant) => [
        grant.grant_id,
        grant.artifact_id,
        grant.from_agent,
        grant.to_agent ?? "anyone with the link",
        instantCell(grant.expires_at),
        grant.max_downloads === null
          ? String(grant.downloads)
          : `${grant.downloads} of ${grant.max_downloads}`,
        grant.key,
      ],
    });
  },
});

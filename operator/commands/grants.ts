import { instantCell } from "../output/cells.ts";
import { LIST_HELP, LIST_OPTIONS, showList } from "../output/list.ts";
import { runOperatorCommand } from "../operator_command.ts";
import type { GrantRow } from "../reads/rows.ts";

/**
 * Every artifact id has this form. Anything else may be an agent, `art_x` too.
 */
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

await runOperatorCommand({
  task: "grants",
  summary: "List the live grants: who may read which artifact, those that end first.",
  usage: "[--of AGENT | ARTIFACT_ID] [--to AGENT] [--limit N] [--after PLACE | --all]",
  help: {
    of: "that this agent gave, or of this artifact",
    to: "to this agent",
    ...LIST_HELP,
  },
  example: "deno task grants --of planner --to builder",
  options: { of: { type: "string" }, to: { type: "string" }, ...LIST_OPTIONS },
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
        grant.to_agent ?? "whoever has the link",
        instantCell(grant.expires_at),
        grant.max_downloads === null
          ? String(grant.downloads)
          : `${grant.downloads} of ${grant.max_downloads}`,
        grant.key,
      ],
    });
  },
});

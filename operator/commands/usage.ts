import { inBytes } from "../../clients/typescript/src/cli/terminal/output.ts";
import { LIST_HELP, LIST_OPTIONS, showList } from "../output/list.ts";
import { runOperatorCommand } from "../operator_command.ts";
import { sinceOf } from "../output/since.ts";
import type { UsageRow } from "../reads/rows.ts";

await runOperatorCommand({
  task: "usage",
  summary: "Show what agents used on each day: requests, refusals, artifacts, bytes, grants.",
  usage: "[--agent AGENT] [--since WHEN] [--limit N] [--after PLACE | --all]",
  help: {
    agent: "of this agent alone",
    since: "from this day (UTC) on: 7d, or a timestamp; default: today",
    ...LIST_HELP,
  },
  example: "deno task usage --agent planner --since 30d",
  options: { agent: { type: "string" }, since: { type: "string" }, ...LIST_OPTIONS },
  async run({ values }, output) {
    await showList<UsageRow>(output, {
      functionName: "list_usage",
      parameters: {
        since: sinceOf(values.since)?.slice(0, 10) ?? null,
        agent_id: values.agent ?? null,
      },
      values,
    }, {
      heads: ["DAY", "AGENT", "REQUESTS", "REFUSALS", "ARTIFACTS", "BYTES", "GRANTS"],
      cells: ({ day, agent_id, requests, refusals, artifacts, bytes, grants }) => [
        day,
        agent_id,
        String(requests),
        String(refusals),
        String(artifacts),
        inBytes(bytes),
        String(grants),
      ],
    });
  },
});

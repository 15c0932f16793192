import { bytesOfLimit } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import { sinceOf } from "../output/since.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { UsageRow } from "../reads/rows.ts";
import { readLimits } from "../reads/settings.ts";

export const usage: Operation = defineOperation({
  summary: "Show what agents used on each day: requests, refusals, artifacts, bytes, grants.",
  example: "agentops usage --agent planner --since 30d",
  options: {
    agent: { type: "string", value: "AGENT", help: "of this agent alone" },
    since: {
      type: "string",
      value: "WHEN",
      help: "from this day (UTC) on: 7d, a date or a timestamp; default: today",
    },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    await assertAgentIsNamed(values.agent);
    const limits = await readLimits();
    await showList<UsageRow>(output, {
      functionName: "list_usage",
      parameters: {
        since: sinceOf(values.since)?.slice(0, 10) ?? null,
        agent_id: values.agent ?? null,
      },
      values,
    }, {
      by: { BYTES: ({ bytes }) => bytes },
      heads: ["DAY", "AGENT", "REQUESTS", "REFUSALS", "ARTIFACTS", "BYTES", "GRANTS"],
      cells: ({ day, agent_id, requests, refusals, artifacts, bytes, quota_bytes, grants }) => [
        day,
        agent_id,
        String(requests),
        String(refusals),
        String(artifacts),
        bytesOfLimit(bytes, quota_bytes ?? limits.quota_bytes),
        String(grants),
      ],
    });
  },
});

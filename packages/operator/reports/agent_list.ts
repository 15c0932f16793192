import { bytesOfLimit, instantCell, ofLimit } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import type { AgentRow } from "../reads/rows.ts";
import { readLimits } from "../reads/settings.ts";

export const agentList: Operation = defineOperation({
  summary: "List the agents: agent keys, last use, artifacts, when their peers were last seen.",
  example: "agentops agent list --limit 20",
  options: {
    ended: { type: "boolean", help: "also agents that have nothing left" },
    tag: { type: "string", value: "TAG", help: "only the agents that have this tag" },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const limits = await readLimits();
    await showList<AgentRow>(output, {
      functionName: "list_agents",
      parameters: { with_ended: values.ended === true, tag: values.tag ?? null },
      values,
    }, {
      by: { BYTES: ({ bytes }) => bytes },
      heads: ["AGENT", "KEYS", "EXPIRED", "LAST USED", "ARTIFACTS", "BYTES", "PEER LAST SEEN"],
      cells: (agent) => [
        agent.agent_id,
        String(agent.live_keys),
        String(agent.expired_keys),
        instantCell(agent.last_used_at),
        ofLimit(agent.artifacts, limits.max_artifacts),
        bytesOfLimit(agent.bytes, agent.quota_bytes ?? limits.quota_bytes),
        agent.has_peer ? instantCell(agent.last_seen) || "never" : "",
      ],
    });
  },
});

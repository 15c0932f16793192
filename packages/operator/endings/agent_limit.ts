import { inBytes } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import { noteUnlessNamed } from "../reads/known_agent.ts";
import { quotaOf } from "./quota.ts";

export const agentLimit: Operation = defineOperation({
  summary: "Give an agent its own quota, instead of the project's.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent limit planner --quota 5G",
  options: {
    quota: {
      type: "string",
      value: "BYTES",
      help: "such as 500M or 5G; 0: any number; none: the project's again",
    },
  },
  async run({ positionals: [agent_id], values }, output) {
    if (values.quota === undefined) throw new UsageError("Give --quota.");
    const quota_bytes = quotaOf(values.quota);
    await noteUnlessNamed(agent_id!);
    const limited = await callAsOperator("set_agent_quota", { agent_id, quota_bytes });
    await output.value(
      limited,
      () =>
        quota_bytes === null
          ? `${agent_id} has the project's quota.`
          : quota_bytes === 0
          ? `${agent_id} may hold any number of bytes.`
          : `${agent_id} may hold ${inBytes(quota_bytes)}.`,
    );
  },
});

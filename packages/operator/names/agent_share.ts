import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import { waysInWords } from "./take_over.ts";

export const agentShare: Operation = defineOperation({
  summary: "Let another way in become an agent, too, with everything that the agent has.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent share planner --with users",
  options: {
    with: {
      type: "string",
      value: "WAY",
      help: "operator, users, or the id of an enrolment, which takes the place of an earlier one",
    },
  },
  async run({ positionals: [agent_id], values }, output) {
    if (values.with === undefined) {
      throw new UsageError("Say with whom: --with operator, --with users or --with enr_….");
    }
    const shared = await callAsOperator("share_agent", { agent_id, way: values.with }) as {
      readonly agent_id: string;
      readonly ways: readonly string[];
    };
    await output.value(shared, () => `${agent_id} belongs to ${waysInWords(shared)}.`);
  },
});

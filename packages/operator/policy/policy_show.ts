import { note, write } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import type { PolicyInForce } from "./policy_in_force.ts";

export const policyShow: Operation = defineOperation({
  summary: "Print the file of the policy in force as it was written, with its comments.",
  example: "agentops policy show > policy.jsonc",
  async run(_arguments, output) {
    const policy = await callAsOperator("read_policy", {}) as PolicyInForce | null;
    if (policy === null) throw new CommandError("No policy was ever applied.");
    // Print the source unchanged, without an added newline: its fingerprint depends on each byte.
    if (output.json) await output.value(policy, () => policy.source);
    else await write(policy.source);
    if (policy.finished_at === null) {
      note(
        "Some of its rules are not made yet: " +
          `agentops policy show | agentops policy apply - --expect ${policy.fingerprint} --yes`,
      );
    }
  },
});

import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { describePlan, planPolicy } from "./plan.ts";
import { readPolicyFile } from "./policy_file.ts";
import { refuseFailed } from "./policy_tests.ts";

export const policyPlan: Operation = defineOperation({
  summary: "Show what the project would gain and lose by a policy, run its tests, change nothing.",
  positionals: {
    usage: "FILE",
    least: 1,
    most: 1,
    wrong: "Name the policy's file.",
    completes: "file",
  },
  example: "agentops policy plan policy.jsonc",
  options: {
    limit: {
      type: "string",
      value: "N",
      help: "list at most N rules, pairs and agents each; default: 200",
    },
  },
  async run({ positionals: [file], values }, output) {
    const limit = values.limit ?? "200";
    if (!/^(?:0|[1-9][0-9]{0,5})$/.test(limit)) {
      throw new UsageError("--limit takes a whole number.");
    }
    const { plan, tests } = await planPolicy(await readPolicyFile(file!), Number(limit));
    refuseFailed(tests);
    await output.value({ ...plan, tests }, () => describePlan(plan, tests));
    note(`Apply it with: agentops policy apply ${file} --expect ${plan.fingerprint}`);
  },
});

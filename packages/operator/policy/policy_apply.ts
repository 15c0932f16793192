import { UsageError } from "../../command/usage_error.ts";
import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { confirm } from "../endings/confirmation.ts";
import { applyWhole, planPolicy, summaryOf } from "./plan.ts";
import { readPolicyFile } from "./policy_file.ts";
import { refuseFailed } from "./policy_tests.ts";

export const policyApply: Operation = defineOperation({
  summary: "Put a policy into force, exactly as planned. If it stops, run it again to continue.",
  positionals: {
    usage: "FILE",
    least: 1,
    most: 1,
    wrong: "Name the policy's file.",
    completes: "file",
  },
  example: "agentops policy apply policy.jsonc --expect FINGERPRINT --yes",
  options: {
    expect: {
      type: "string",
      value: "FINGERPRINT",
      help: "the fingerprint that `agentops policy plan` printed; required",
    },
    yes: { type: "boolean", help: "do not ask" },
  },
  async run({ positionals: [file], values }, output) {
    const { expect } = values;
    if (expect === undefined || !/^[0-9a-f]{64}$/.test(expect)) {
      throw new UsageError(
        "Give --expect with the fingerprint that `agentops policy plan` prints.",
      );
    }
    const policy = await readPolicyFile(file!);
    const { plan, tests } = await planPolicy(policy, 0);
    refuseFailed(tests);
    // The database checks this again. Here it avoids a question about what cannot be applied.
    if (plan.fingerprint !== expect && plan.in_force?.fingerprint !== expect) {
      throw new CommandError(
        "policy_changed: nothing was changed. The file, the policy in force or the tags of agents " +
          "have changed since that plan: run `agentops policy plan` again.",
      );
    }
    await confirm(summaryOf(plan), values);
    const applied = await applyWhole(policy, expect);
    await output.value(
      applied,
      ({ added, removed }) => `The policy is in force: ${added} rules added, ${removed} removed.`,
    );
  },
});

import { policyApply } from "../../policy/policy_apply.ts";
import { policyCheck } from "../../policy/policy_check.ts";
import { policyPlan } from "../../policy/policy_plan.ts";
import { policyShow } from "../../policy/policy_show.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const policy: Operation = defineOperations({
  summary: "Check, plan and apply the operator's rules in a file.",
  example: "agentops policy plan policy.jsonc",
  parts: {
    check: policyCheck,
    plan: policyPlan,
    apply: policyApply,
    show: policyShow,
  },
});

import type { PolicyInForce } from "../../../policy/policy_in_force.ts";
import type { Facts } from "../../facts/facts.ts";
import { fault, type Finding, ok } from "../../findings/finding.ts";
import { unmade, unmadeByDatabase } from "../unmade.ts";
import { resumePolicy } from "../../findings/remedies.ts";

/** Whether all rules of the policy in force are made. */
export function checkPolicy(facts: Facts): Finding[] {
  const { status, body } = facts.policy;
  if (status !== 200) return unmadeByDatabase("policy", facts.policy, facts);
  if (body === null) return [];
  const { fingerprint, finished_at, rules } = body as PolicyInForce;
  if (finished_at === undefined) return [unmade("policy", facts.policy)];
  if (finished_at !== null) {
    return [ok("policy", `The policy in force has all of its ${rules} rules.`)];
  }
  return [
    fault(
      "policy",
      "The policy was only partly applied: some of its rules are missing, or rules of the previous policy have not ended.",
      "Apply the rest of it.",
      resumePolicy(fingerprint),
    ),
  ];
}

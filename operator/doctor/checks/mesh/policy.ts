import type { PolicyInForce } from "../../../policy/policy_in_force.ts";
import type { Facts } from "../../facts/facts.ts";
import { fault, type Finding, ok } from "../../findings/finding.ts";
import { resumePolicy } from "../../findings/remedies.ts";

/** Whether all rules of the policy in force are made. */
export function checkPolicy({ policy: { status, body } }: Facts): Finding[] {
  // An older schema has no policies; another check reports its age.
  if (status !== 200 || body === null) return [];
  const { fingerprint, finished_at, rules } = body as PolicyInForce;
  if (finished_at !== null) {
    return [ok("policy", `The policy in force has all of its ${rules} rules.`)];
  }
  return [
    fault(
      "policy",
      "Applying the policy stopped before it was finished: some of its rules are not made yet, or those of the policy before it have not ended.",
      "Go on where it stopped.",
      resumePolicy(fingerprint),
    ),
  ];
}

import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { rule, ruleOfTwo } from "../fields.ts";
import { inTurn } from "../change_turns.ts";

const response = rule.extend({
  revoked: z.boolean()
    .meta({ description: "False if there was no such rule or request.", examples: [true] }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End an access rule, or a request for one, for both of its agents.",
    description:
      "To restore the rule, both must agree again. A rule of the operator's policy cannot be revoked.",
    tag: "Rules",
    callers: "either agent of the rule",
    effect: "replaces",
    identification: "required",
    request: ruleOfTwo,
    response,
    errors: ["policy_rule"],
    handle({ input, caller }) {
      return inTurn(caller, () => relayDatabase("revoke_rule", { caller, ...input }));
    },
  });
}

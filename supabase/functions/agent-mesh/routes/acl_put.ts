import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { rule, ruleOfTwo } from "../fields.ts";

const response = rule.extend({
  created: z.boolean(),
  active: z.boolean(),
  waiting_for: z.string().nullable()
    .meta({ description: "The agent that has not agreed yet." }),
});

export function createOperation({ callDatabase, settings }: Platform): Operation {
  return defineOperation({
    summary: "Agree to an access rule; it is active once both of its agents have.",
    access: "either agent of the rule, the operator (who agrees for both)",
    request: ruleOfTwo,
    response,
    errors: ["limit_exceeded"],
    handle({ input, caller }) {
      return callDatabase<z.output<typeof response>>("put_rule", {
        caller,
        ...input,
        max_rules: settings.meshMaxRules,
        max_requests: settings.meshMaxRequests,
      });
    },
  });
}

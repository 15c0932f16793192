import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { rule, ruleOfTwo } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";
import { inTurn } from "../turns.ts";

const response = rule.extend({
  created: z.boolean().meta({ description: "Whether this call made it.", examples: [true] }),
  active: z.boolean().meta({ description: "Whether both have agreed.", examples: [false] }),
  waiting_for: z.string().nullable()
    .meta({ description: "The agent that has not agreed yet.", examples: ["builder"] }),
});

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Agree to an access rule; it is active once both of its agents have.",
    description: "Put by one agent alone it is a request, which gives nobody anything. The " +
      "operator agrees for both. A request that the other agent declined by /acl/revoke cannot be " +
      "made again for a day: the answer is as usual, and nothing is made.",
    tag: "Rules",
    callers: "either agent of the rule",
    effect: "sets",
    identification: "required",
    request: ruleOfTwo,
    response,
    errors: ["limit_exceeded"],
    handle({ input, caller }) {
      return inTurn(caller, () =>
        relayDatabase("put_rule", {
          caller,
          ...input,
          max_rules: settings.meshMaxRules,
          max_requests: settings.meshMaxRequests,
          max_requests_per_target: settings.meshMaxRequestsPerTarget,
        }));
    },
  });
}

import * as z from "zod";
import { sentAgentId } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { rule, ruleOfTwo } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";
import { inTurn } from "../change_turns.ts";

const response = rule.extend({
  created: z.boolean().meta({
    description: "Whether this call created the rule or request.",
    examples: [true],
  }),
  active: z.boolean().meta({ description: "Whether both agents have agreed.", examples: [false] }),
  waiting_for: sentAgentId.nullable()
    .meta({
      description: "The agent that has not agreed yet; null: both have.",
      examples: ["builder"],
    }),
});

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Agree to an access rule. It is active once both of its agents have agreed.",
    description: "Until the other agent agrees, it is a request, which gives nobody access. The " +
      "operator agrees for both. If the other agent has declined the request with /acl/revoke, it " +
      "cannot be repeated for a day: the answer looks the same, but no request is created.",
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

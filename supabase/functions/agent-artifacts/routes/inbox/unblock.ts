import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { blockedSender, namesSender } from "../../senders.ts";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Show a sender's grants in the inbox again.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request: namesSender,
    response: blockedSender.extend({
      blocked: z.literal(false).meta({ description: "Its grants are shown." }),
    }),
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("unblock_sender", {
        caller,
        agent_id: input.agent_id ?? null,
        from_agent: input.from_agent,
      });
    },
  });
}

import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { blockedSender, namesSender } from "../../senders.ts";
import type { ArtifactsSettings } from "../../settings.ts";

export function createOperation(
  { relayDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary: "Keep the grants of a sender out of the inbox.",
    description:
      "They exist all the same, and can be opened by who knows the artifact. The sender " +
      "does not learn of it.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request: namesSender,
    response: blockedSender.extend({ blocked: z.literal(true) }),
    errors: ["limit_exceeded"],
    handle({ input, caller }) {
      return relayDatabase("block_sender", {
        caller,
        agent_id: input.agent_id ?? null,
        from_agent: input.from_agent,
        max_blocked: settings.artifactsMaxBlocked,
      });
    },
  });
}

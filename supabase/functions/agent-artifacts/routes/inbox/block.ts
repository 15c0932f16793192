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
    summary: "Hide a sender's grants from the inbox.",
    description:
      "The grants still exist: the agent can open the files that it knows of. The sender " +
      "is not told.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request: namesSender,
    response: blockedSender.extend({
      blocked: z.literal(true).meta({ description: "Its grants are hidden." }),
    }),
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

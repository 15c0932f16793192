import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import type { ArtifactsSettings } from "../../settings.ts";
import { deliverDue } from "../../webhooks/deliver_due.ts";

const count = z.int().min(0);

export function createOperation(platform: Platform<ArtifactsSettings>): Operation {
  return defineOperation({
    summary: "Send the events that are due to the webhooks.",
    description: "Answers when nothing has been due for two seconds, or after a minute or so.",
    tag: "Webhooks",
    callers: "the operator",
    effect: "replaces",
    identification: "required",
    // Only schedules and the operator's tasks call it.
    isUnlisted: true,
    request: z.strictObject({}),
    response: z.object({
      delivered: count.meta({ description: "How many deliveries arrived.", examples: [12] }),
      failed: count.meta({
        description: "How many attempts failed. They are repeated later.",
        examples: [0],
      }),
    }),
    errors: [],
    handle: ({ caller }) => deliverDue(platform, caller),
  });
}

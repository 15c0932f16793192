import * as z from "zod";
import { wellFormedText } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { sentGrantId } from "../../fields.ts";
import { sentNextAt, sentState, TAKE_ERRORS, takeId } from "../../tasks.ts";

const REASON_RULE = "Must be 1 to 500 characters, without U+0000.";
const PAUSE_RULE = "Must be a whole number from 0 to 86400.";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Give a taken task back: it waits again after a pause, or is parked.",
    description:
      "The pause is 10 seconds after the first attempt, and doubles with each, up to an " +
      "hour. After the grant's `max_attempts`, or with `final`, the task is parked until its giver " +
      "requeues it. With `interrupted`, this was no attempt, and there is no pause.",
    tag: "Tasks",
    callers: "the taker",
    effect: "replaces",
    identification: "required",
    request: z.strictObject({
      take_id: takeId,
      reason: wellFormedText.min(1, REASON_RULE).max(500, REASON_RULE)
        .regex(new RegExp(String.raw`^[^\x00]*$`), REASON_RULE)
        .meta({ description: "Why, for its giver.", examples: ["The plan has no roof."] }),
      retry_after_seconds: z.int(PAUSE_RULE).min(0, PAUSE_RULE).max(86_400, PAUSE_RULE).optional()
        .meta({ description: "The pause, in place of the default.", examples: [60] }),
      final: z.boolean().default(false)
        .meta({ description: "Whether it cannot succeed, however often it is tried." }),
      interrupted: z.boolean().default(false).meta({
        description:
          "Whether the worker is being stopped, and the task is not the cause: the attempt does " +
          "not count, and the task can be taken again at once. `final` parks it all the same.",
      }),
    }),
    response: z.object({ grant_id: sentGrantId, state: sentState, next_at: sentNextAt }),
    errors: TAKE_ERRORS,
    handle({ input, caller }) {
      return relayDatabase("fail_task", {
        caller,
        take_id: input.take_id,
        reason: input.reason,
        retry_after_seconds: input.retry_after_seconds ?? null,
        is_final: input.final,
        // Left out otherwise: the SQL function of an earlier release does not know it.
        ...(input.interrupted && { is_interrupted: true }),
      });
    },
  });
}

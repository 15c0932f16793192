import * as z from "zod";
import { limit } from "../../request/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";
import { enrolmentId, sentEnrolment } from "./fields.ts";

const response = z.object({
  enrolments: z.array(sentEnrolment),
  next_cursor: enrolmentId.nullable()
    .meta({
      description: "`cursor` of the next page. Null: this is the last one.",
      examples: [null],
    }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "List the enrolments, oldest first, with those that have ended.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "reads",
    identification: "required",
    // Only the operator's tasks call it.
    isUnlisted: true,
    request: z.strictObject({
      limit,
      cursor: enrolmentId.optional()
        .meta({ description: "`next_cursor` of the page before." }),
    }),
    response,
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_enrolments", {
        caller,
        max_entries: input.limit,
        after: input.cursor ?? null,
      });
    },
  });
}

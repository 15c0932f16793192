import * as z from "zod";
import { limit, subject } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { CURSOR, nextCursor } from "../../fields.ts";
import { standingGrant } from "../../standing.ts";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "List the live standing grants of an agent, the first to expire first.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({
      agent_id: subject,
      limit,
      cursor: z.string()
        // When the last standing grant of the previous page ends, in microseconds, and its id.
        .regex(
          /^[0-9]{1,18}\.standing_[0-9a-f]{32}$/,
          "Must be the next_cursor of an earlier answer.",
        )
        .optional().meta(CURSOR),
    }),
    response: z.object({ standing_grants: z.array(standingGrant), next_cursor: nextCursor }),
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_standing_grants", {
        caller,
        agent_id: input.agent_id ?? null,
        max_entries: input.limit,
        cursor: input.cursor ?? null,
      });
    },
  });
}

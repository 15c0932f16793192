import * as z from "zod";
import { agentId, limit } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { artifact, CURSOR, key, nextCursor } from "../../fields.ts";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "List the versions of a file that you may open, newest first.",
    description: "All versions that have not ended, of your own file; of another agent's, those " +
      "that it granted to you. A page may be short or empty although there is a next one.",
    tag: "Artifacts",
    callers: "the owner, agents with a live grant",
    effect: "reads",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({
      agent_id: agentId.optional()
        .meta({ description: "The agent that owns the file. Default: the caller." }),
      key,
      limit,
      cursor: z.string()
        // The lowest version of the previous page.
        .regex(/^[1-9][0-9]{0,14}$/, "Must be the next_cursor of an earlier answer.")
        .optional().meta(CURSOR),
    }),
    response: z.object({ versions: z.array(artifact), next_cursor: nextCursor }),
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_versions", {
        caller,
        agent_id: input.agent_id ?? null,
        key: input.key,
        max_entries: input.limit,
        before_version: input.cursor === undefined ? null : Number(input.cursor),
      });
    },
  });
}

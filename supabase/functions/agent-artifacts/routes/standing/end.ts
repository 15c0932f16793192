import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { sentStandingId, standingId } from "../../standing.ts";

const response = z.object({
  standing_id: sentStandingId,
  ended: z.boolean()
    .meta({ description: "Whether it was live until now.", examples: [true] }),
  revoked: z.int().min(0)
    .meta({ description: "How many grants this call ended.", examples: [2] }),
  remaining: z.boolean().meta({
    description: "Whether more grants of it are live: send the same request again.",
    examples: [false],
  }),
}).meta({ id: "EndedStandingGrant" });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End a standing grant and the grants that it made.",
    description:
      "One call ends at most 500 grants: repeat it while `remaining` is true. No commit " +
      "after the first call is granted.",
    tag: "Grants",
    callers: "the owner",
    effect: "replaces",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({
      standing_id: standingId,
      end_grants: z.boolean().default(true)
        .meta({ description: "False: the grants that it made stay until their own end." }),
    }),
    response,
    errors: ["grant_not_found"],
    handle({ input, caller }) {
      return relayDatabase("end_standing_grant", { caller, ...input });
    },
  });
}

import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { grantId, sentGrantId } from "../../fields.ts";
import { sentState } from "../../tasks.ts";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Let a parked task wait again.",
    description:
      "Its attempts count from 0, and a pause ends. A task that is done stays done, and " +
      "a taker keeps its take.",
    tag: "Tasks",
    callers: "the owner",
    effect: "sets",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({ grant_id: grantId }),
    response: z.object({ grant_id: sentGrantId, state: sentState }),
    errors: ["grant_not_found", "grant_revoked", "grant_expired", "artifact_expired"],
    handle({ input, caller }) {
      return relayDatabase("requeue_task", { caller, grant_id: input.grant_id });
    },
  });
}

import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { seconds, sentTakeId, sentTakenUntil, TAKE_ERRORS, takeId } from "../../tasks.ts";

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Hold a taken task for longer.",
    description: "The seconds count from now.",
    tag: "Tasks",
    callers: "the taker",
    effect: "sets",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({ take_id: takeId, seconds }),
    response: z.object({ take_id: sentTakeId, taken_until: sentTakenUntil }),
    errors: TAKE_ERRORS,
    handle({ input, caller }) {
      return relayDatabase("extend_take", { caller, ...input });
    },
  });
}

import * as z from "zod";
import { sentSubject, subject } from "../../request/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";

const response = z.object({
  agent_id: sentSubject,
  left: z.literal(true).meta({ description: "The agent has left.", examples: [true] }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End this agent: its agent keys, its peer and its rules.",
    description:
      "Its files and the grants that it gave stay until they expire. Its agent key is then refused, " +
      "also for a repetition of this request.",
    tag: "Enrolment",
    callers: "the agent itself",
    effect: "replaces",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({ agent_id: subject }),
    response,
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("leave", { caller, agent_id: input.agent_id ?? null });
    },
  });
}

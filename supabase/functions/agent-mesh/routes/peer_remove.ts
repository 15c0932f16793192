import * as z from "zod";
import { sentSubject, subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { inTurn } from "../change_turns.ts";

const response = z.object({
  agent_id: sentSubject,
  removed: z.boolean().meta({ description: "False if the agent had no peer.", examples: [true] }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Leave the mesh: the peer, its rules and its PSKs are deleted.",
    tag: "Peers",
    callers: "the agent itself",
    effect: "replaces",
    identification: "required",
    request: z.strictObject({ agent_id: subject }),
    response,
    errors: [],
    handle({ input, caller }) {
      return inTurn(
        caller,
        () => relayDatabase("remove_peer", { caller, agent_id: input.agent_id ?? null }),
      );
    },
  });
}

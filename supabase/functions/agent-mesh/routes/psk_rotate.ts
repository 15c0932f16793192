import * as z from "zod";
import { agentId, sentAgentId, sentTimestamp } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { sentPskVersion } from "../fields.ts";
import { inTurn } from "../change_turns.ts";

const A = { description: "One agent of the pair.", examples: ["planner"] };
const B = { description: "The other agent of the pair.", examples: ["builder"] };

const response = z.object({
  a: sentAgentId.meta(A),
  b: sentAgentId.meta(B),
  psk_version: sentPskVersion,
  rotated_at: sentTimestamp.meta({ description: "When the PSK was replaced." }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Replace the PSK of a pair of agents. Both must then call /wg_config.",
    tag: "PSKs",
    callers: "either agent of the pair",
    effect: "renews",
    identification: "required",
    request: z.strictObject({ a: agentId.meta(A), b: agentId.meta(B) }),
    response,
    errors: ["peer_not_found"],
    handle({ input, caller }) {
      return inTurn(caller, () => relayDatabase("rotate_psk", { caller, ...input }));
    },
  });
}

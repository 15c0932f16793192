import * as z from "zod";
import { agentId, sentTimestamp } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { inTurn } from "../turns.ts";

const response = z.object({
  a: z.string().meta({ examples: ["planner"] }),
  b: z.string().meta({ examples: ["builder"] }),
  psk_version: z.int().meta({ examples: [2] }),
  rotated_at: sentTimestamp,
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Replace the PSK of a pair; both then call /wg_config.",
    tag: "PSKs",
    callers: "either agent of the pair",
    effect: "renews",
    identification: "required",
    request: z.object({ a: agentId, b: agentId.meta({ examples: ["builder"] }) }),
    response,
    errors: ["peer_not_found"],
    handle({ input, caller }) {
      return inTurn(caller, () => relayDatabase("rotate_psk", { caller, ...input }));
    },
  });
}

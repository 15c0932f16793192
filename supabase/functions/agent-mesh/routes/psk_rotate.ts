import * as z from "zod";
import { agentId } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";

const response = z.object({
  a: z.string(),
  b: z.string(),
  psk_version: z.int(),
  rotated_at: z.string(),
});

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "Replace the PSK of a pair; both then call /wg_config.",
    access: "either agent of the pair, the operator",
    request: z.object({ a: agentId, b: agentId }),
    response,
    errors: ["peer_not_found"],
    handle({ input, caller }) {
      return callDatabase<z.output<typeof response>>("rotate_psk", { caller, ...input });
    },
  });
}

import * as z from "zod";
import { createEventsOperation } from "../../_shared/operations/events.ts";
import type { Operation, Platform } from "../../_shared/operations/operation.ts";
import { sentAgentId, sentTimestamp } from "../../_shared/request/fields.ts";
import { port, proto, rule, sentEndpoint, sentPskVersion, sentPubkey } from "../fields.ts";

export const MESH_EVENT_TYPES = [
  "rule.requested",
  "rule.activated",
  "rule.revoked",
  "peer.registered",
  "peer.updated",
  "peer.removed",
  "peer.appeared",
  "peer.vanished",
  "psk.rotated",
] as const;

export function createOperation(platform: Platform): Operation {
  return createEventsOperation(platform, {
    types: MESH_EVENT_TYPES,
    fields: {
      from_agent: rule.shape.from_agent.optional(),
      to_agent: rule.shape.to_agent.optional(),
      port: port.optional(),
      proto: proto.optional(),
      peer: sentAgentId.optional()
        .meta({ description: "The agent that became visible to the agent, or invisible." }),
      pubkey: sentPubkey.optional()
        .meta({ description: "The WireGuard public key that the agent registered." }),
      endpoint: sentEndpoint.optional()
        .meta({ description: "The endpoint that the agent registered, as `<host>:<port>`." }),
      a: sentAgentId.optional().meta({ description: "One agent of the pair." }),
      b: sentAgentId.optional().meta({ description: "The other agent of the pair." }),
      psk_version: sentPskVersion.optional(),
      times: z.int().min(1).optional().meta({
        description: "How many repeated changes this event stands for. Its type is that of the " +
          "last one.",
      }),
      last_at: sentTimestamp.optional()
        .meta({ description: "When the last of these changes was, if later than `at`." }),
    },
    example: { from_agent: "planner", to_agent: "builder", port: 443, proto: "tcp" },
    about: "Shows the rules and requests that name the agent, the peers that became visible or " +
      "invisible to it, its own registrations, and new PSKs of its pairs.",
  });
}

import * as z from "zod";
import { createEventsOperation } from "../../_shared/events.ts";
import type { Operation, Platform } from "../../_shared/operations/operation.ts";
import { sentTimestamp } from "../../_shared/fields.ts";
import { port, proto } from "../fields.ts";

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
      from_agent: z.string().optional(),
      to_agent: z.string().optional(),
      port: port.optional(),
      proto: proto.optional(),
      peer: z.string().optional()
        .meta({ description: "Whom the agent sees from now on, or sees no more." }),
      pubkey: z.string().optional()
        .meta({ description: "Of the agent's own registration, as is `endpoint`." }),
      endpoint: z.string().optional(),
      a: z.string().optional(),
      b: z.string().optional(),
      psk_version: z.int().optional(),
      times: z.int().optional().meta({
        description: "How many changes of the same thing the event stands for; its type is the " +
          "last one's.",
      }),
      last_at: sentTimestamp.optional()
        .meta({ description: "When the last of them was, where that is not `at`." }),
    },
    example: { from_agent: "planner", to_agent: "builder", port: 443, proto: "tcp" },
    about: "Rules and requests that name it, peers that it sees or sees no more, its own " +
      "registrations, and rotations.",
  });
}

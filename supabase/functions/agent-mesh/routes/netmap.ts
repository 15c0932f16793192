import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { configVersion } from "../config_version.ts";
import { peer, rule, subject } from "../fields.ts";

const response = z.object({
  agent_id: z.string(),
  config_version: z.int(),
  peers: z.array(peer.extend({
    self: z.boolean(),
    psk_version: z.int().nullable()
      .meta({ description: "Null before the pair's first PSK, and for oneself." }),
    config_version_applied: z.int().nullable()
      .meta({ description: "What the peer last reported; null for oneself." }),
  })),
  acls: z.array(rule),
  acl_requests: z.array(rule.extend({ waiting_for: z.string() })),
});

export function createOperation({ callDatabase, settings }: Platform): Operation {
  return defineOperation({
    summary: "What an agent sees: peers, active rules and requests.",
    access: "the agent itself, the operator",
    request: z.object({ agent_id: subject }),
    response,
    errors: ["peer_not_found"],
    async handle({ input, caller }) {
      const netmap = await callDatabase<z.output<typeof response>>("read_netmap", {
        caller,
        agent_id: input.agent_id ?? null,
        online_seconds: settings.meshOnlineSeconds,
      });
      return { ...netmap, config_version: configVersion(netmap.config_version) };
    },
  });
}

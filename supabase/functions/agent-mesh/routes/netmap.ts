import * as z from "zod";
import { subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { RENDERING_REVISION } from "../config_version.ts";
import { peer, port, rule, sentConfigVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const visiblePeer = peer.extend({
  agent_id: z.string().meta({ examples: ["builder"] }),
  self: z.boolean().meta({ description: "Whether it is the agent's own.", examples: [false] }),
  psk_version: z.int().nullable()
    .meta({ description: "Null before the pair's first PSK, and for oneself.", examples: [1] }),
  config_version_applied: z.int().nullable()
    .meta({ description: "What the peer last reported; null for oneself.", examples: [7] }),
}).meta({ id: "VisiblePeer" });

const ruleRequest = rule.extend({
  port: port.meta({ examples: [22] }),
  waiting_for: z.string().meta({
    description: "The agent that has not agreed yet.",
    examples: ["builder"],
  }),
}).meta({ id: "RuleRequest" });

const response = z.object({
  agent_id: z.string().meta({ examples: ["planner"] }),
  config_version: sentConfigVersion,
  peers: z.array(visiblePeer),
  acls: z.array(rule).meta({ description: "The active rules that name the agent." }),
  acl_requests: z.array(ruleRequest).meta({ description: "The requests that name the agent." }),
}).meta({ id: "Netmap" });

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "What an agent sees: peers, active rules and requests.",
    description: "An agent sees itself and every peer that it shares an active rule with.",
    tag: "Configuration",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({ agent_id: subject }),
    response,
    errors: ["peer_not_found"],
    handle({ input, caller }) {
      return relayDatabase("read_netmap", {
        caller,
        agent_id: input.agent_id ?? null,
        online_seconds: settings.meshOnlineSeconds,
        // Added there, because a map of thousands of peers takes long to parse and to write again.
        rendering_revision: RENDERING_REVISION,
      });
    },
  });
}

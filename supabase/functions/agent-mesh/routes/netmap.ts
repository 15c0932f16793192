import * as z from "zod";
import { sentAgentId, sentSubject, subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { RENDERING_REVISION } from "../../_shared/waiting/config_version.ts";
import { peer, port, rule, sentConfigVersion, sentPskVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const visiblePeer = peer.extend({
  agent_id: peer.shape.agent_id.meta({ examples: ["builder"] }),
  self: z.boolean()
    .meta({ description: "Whether this is the agent's own peer.", examples: [false] }),
  psk_version: sentPskVersion.nullable().meta({
    description: "The version of the PSK that the two share; null before their first PSK, and in " +
      "the agent's own entry.",
    examples: [1],
  }),
  config_version_applied: sentConfigVersion.nullable().meta({
    description:
      "The `config_version` that the peer last reported; null if it has reported none, " +
      "and in the agent's own entry.",
    examples: [7],
  }),
}).meta({ id: "VisiblePeer" });

const ruleRequest = rule.extend({
  port: port.meta({ examples: [22] }),
  waiting_for: sentAgentId.meta({
    description: "The agent that has not agreed yet.",
    examples: ["builder"],
  }),
}).meta({ id: "RuleRequest" });

const response = z.object({
  agent_id: sentSubject,
  config_version: sentConfigVersion,
  peers: z.array(visiblePeer)
    .meta({ description: "The agent's own peer, and those that share an active rule with it." }),
  acls: z.array(rule).meta({ description: "The active rules that name the agent." }),
  acl_requests: z.array(ruleRequest).meta({ description: "The requests that name the agent." }),
}).meta({ id: "Netmap" });

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Show what an agent sees of the mesh: peers, active rules and requests.",
    description: "An agent sees itself and every peer that shares an active rule with it.",
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

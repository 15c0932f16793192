import * as z from "zod";
import { sentAgentId, sentSubject, sentTimestamp, subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { RENDERING_REVISION } from "../../_shared/operations/waiting/config_version.ts";
import {
  peer,
  port,
  rule,
  sentConfigVersion,
  sentEndpoint,
  sentProblem,
  sentPskVersion,
} from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const pathReport = z.object({
  works: z.boolean().meta({
    description:
      "Whether the path worked: it has a way, and the last handshake was less than 180 " +
      "seconds old.",
    examples: [true],
  }),
  via: z.enum(["direct", "relay", "none"])
    .meta({ description: "How packets travel, as this side reports it.", examples: ["direct"] }),
  since: sentTimestamp.meta({
    description: "When the path began to work this way, or stopped working, according to reports.",
  }),
  handshake_age_seconds: z.int().min(0).nullable().meta({
    description: "How old the last handshake was when the side reported it, within 15 seconds; " +
      "null: there was none.",
    examples: [42],
  }),
  endpoint: sentEndpoint.nullable().meta({
    description: "Where the side sees the other one: the source of its packets; null: unknown.",
  }),
  reported_at: sentTimestamp.meta({ description: "When the side reported this." }),
}).meta({ id: "PathReport" });

const path = z.object({
  reported_by_self: pathReport.nullable().meta({
    description: "What the agent last reported of the path; null: nothing, or not recently.",
  }),
  reported_by_peer: pathReport.nullable().meta({
    description: "What the peer last reported of it. `endpoint` is where it sees the agent.",
  }),
}).meta({ id: "Path" });

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
  path: path.nullable().meta({
    description: "Whether the tunnel between the two works; null in the agent's own entry.",
  }),
  problem: sentProblem.nullable().optional().meta({
    description:
      "Why the peer's host has no tunnel, as it last reported; null: it reported no problem. Missing with an older database.",
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
    request: z.strictObject({ agent_id: subject }),
    response,
    errors: ["peer_not_found"],
    handle({ input, caller }) {
      return relayDatabase("read_netmap", {
        caller,
        agent_id: input.agent_id ?? null,
        online_seconds: settings.meshOnlineSeconds,
        // The database adds it to the versions, because a netmap of thousands of peers takes long
        // to parse and to write again.
        rendering_revision: RENDERING_REVISION,
      });
    },
  });
}

import * as z from "zod";
import { agentId, sentTimestamp } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { configVersion } from "../config_version.ts";
import { sentConfigVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const VERSION_RULE = "Must be the config_version of a configuration.";

const request = z.object({
  agent_id: agentId,
  config_version: z.int(VERSION_RULE).min(0, VERSION_RULE).optional()
    .meta({ description: "The version that the agent runs now.", examples: [7] }),
});

const response = z.object({
  agent_id: z.string().meta({ examples: ["planner"] }),
  last_seen: sentTimestamp,
  online: z.literal(true),
  config_version: sentConfigVersion
    .meta({ description: "Where it differs from what runs, call /wg_config.", examples: [8] }),
  heartbeat_interval_seconds: z.int()
    .meta({ description: "When the next heartbeat is due.", examples: [30] }),
}).meta({ id: "Heartbeat" });

interface Recorded {
  readonly agent_id: string;
  readonly last_seen: string;
  readonly config_version: number;
}

export function createOperation({ callDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Say that the agent is there.",
    tag: "Peers",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request,
    response,
    errors: ["peer_not_found"],
    async handle({ input, caller }) {
      const { agent_id, last_seen, config_version } = await callDatabase<Recorded>(
        "record_heartbeat",
        { caller, agent_id: input.agent_id, config_version: input.config_version ?? null },
      );
      return {
        agent_id,
        last_seen,
        online: true as const,
        config_version: configVersion(config_version),
        heartbeat_interval_seconds: settings.meshHeartbeatSeconds,
      };
    },
  });
}

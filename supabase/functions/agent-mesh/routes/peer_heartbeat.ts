import * as z from "zod";
import { agentId } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { configVersion } from "../config_version.ts";

const VERSION_RULE = "Must be the config_version of a configuration.";

const request = z.object({
  agent_id: agentId,
  config_version: z.int(VERSION_RULE).min(0, VERSION_RULE).optional()
    .meta({ description: "The version that the agent runs now." }),
});

const response = z.object({
  agent_id: z.string(),
  last_seen: z.string(),
  online: z.literal(true),
  config_version: z.int().meta({ description: "If it differs from what runs: see /wg_config." }),
  heartbeat_interval_seconds: z.int(),
});

interface Recorded {
  readonly agent_id: string;
  readonly last_seen: string;
  readonly config_version: number;
}

export function createOperation({ callDatabase, settings }: Platform): Operation {
  return defineOperation({
    summary: "Say that the agent is there.",
    access: "the agent itself, the operator",
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

import * as z from "zod";
import { sentTimestamp, subject, waitSeconds } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { configVersion } from "../config_version.ts";
import { sentConfigVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const VERSION_RULE = "Must be the config_version of a configuration.";

const request = z.object({
  agent_id: subject,
  config_version: z.int(VERSION_RULE).min(0, VERSION_RULE).optional()
    .meta({ description: "The version that the agent runs now.", examples: [7] }),
  wait_seconds: waitSeconds
    .meta({ description: "How long to wait for another version than `config_version`." }),
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

export function createOperation(platform: Platform<MeshSettings>): Operation {
  const { callDatabase, settings } = platform;
  return defineOperation({
    summary: "Say that the agent is there.",
    description: "It counts when it arrives. With `config_version` and `wait_seconds` the answer " +
      "comes as soon as the agent should run another version.",
    tag: "Peers",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request,
    response,
    errors: ["peer_not_found"],
    async handle({ input, caller, request, slot }) {
      const whose = { caller, agent_id: input.agent_id ?? null };
      const runs = input.config_version ?? null;
      const record = () =>
        callDatabase<Recorded>("record_heartbeat", { ...whose, config_version: runs });
      const { agent_id, last_seen, config_version } = input.wait_seconds === 0
        ? await record()
        : await (await import("../../_shared/waiting/answer_with_news.ts")).answerWithNews(
          platform,
          {
            ask: record,
            askAgain: () => callDatabase<Recorded>("read_heartbeat", whose),
            hasNews: ({ config_version }) => configVersion(config_version) !== runs,
            waitAfter: ({ config_version }) => ({
              kind: "configuration",
              ...whose,
              version: config_version,
            }),
          },
          { seconds: input.wait_seconds, caller, request, slot },
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

import * as z from "zod";
import { sentSubject, sentTimestamp, subject, waitSeconds } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { noteOrdinary } from "../../_shared/request/request_record.ts";
import {
  configVersion,
  RENDERING_REVISION,
} from "../../_shared/operations/waiting/config_version.ts";
import { paths, pathsParameter } from "../../_shared/operations/waiting/paths.ts";
import { problem, refusedConnections, sentConfigVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const VERSION_RULE = "Must be the config_version of an answer of /wg_config.";

const request = z.strictObject({
  agent_id: subject,
  config_version: z.int(VERSION_RULE).min(0, VERSION_RULE).optional()
    .meta({
      description: "The `config_version` of the configuration that the agent runs now.",
      examples: [7],
    }),
  paths,
  problem,
  refused: refusedConnections,
  wait_seconds: waitSeconds
    .meta({
      description: "How many seconds to wait for a `config_version` other than the one sent.",
    }),
});

const response = z.object({
  agent_id: sentSubject,
  last_seen: sentTimestamp.meta({ description: "When this heartbeat arrived." }),
  online: z.literal(true).meta({ description: "The agent now counts as online." }),
  config_version: sentConfigVersion
    .meta({ description: "If the agent runs another version, call /wg_config.", examples: [8] }),
  heartbeat_interval_seconds: z.int().min(1)
    .meta({ description: "Send the next heartbeat after this many seconds.", examples: [30] }),
}).meta({ id: "Heartbeat" });

interface Recorded {
  readonly agent_id: string;
  readonly last_seen: string;
  readonly config_version: number;
}

export function createOperation(platform: Platform<MeshSettings>): Operation {
  const { callDatabase, settings } = platform;
  return defineOperation({
    summary: "Report that the agent is online.",
    description:
      "A heartbeat counts on arrival, and for as long as it waits. With `config_version` and `wait_seconds`, " +
      "the answer comes as soon as the agent should run another version.",
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
        callDatabase<Recorded>("record_heartbeat", {
          ...whose,
          config_version: runs,
          rendering_revision: RENDERING_REVISION,
          ...pathsParameter(input.paths),
          ...(input.problem && { problem: input.problem }),
          ...(input.refused && settings.meshRefusedPerHour > 0 && {
            refused: input.refused,
            refused_per_hour: settings.meshRefusedPerHour,
          }),
          wait_seconds: input.wait_seconds,
        });
      const { agent_id, last_seen, config_version } = input.wait_seconds === 0
        ? await record()
        : await (await import("../../_shared/operations/waiting/answer_with_news.ts"))
          .answerWithNews(
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
      const isNews = runs !== null && configVersion(config_version) !== runs;
      if (input.wait_seconds === 0 && !isNews) noteOrdinary();
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

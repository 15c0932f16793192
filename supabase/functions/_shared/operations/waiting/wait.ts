import * as z from "zod";
import { subject, waitSeconds } from "../../request/fields.ts";
import { noteOrdinary } from "../../request/request_record.ts";
import { defineOperation, type Operation, type Platform } from "../operation.ts";
import { configVersion as sentVersion, RENDERING_REVISION } from "./config_version.ts";
import { paths, pathsParameter } from "./paths.ts";
import {
  EVENTS_POSITION,
  INBOX_POSITION,
  POSITION_RULE,
  SENT_EVENTS_POSITION,
  SENT_INBOX_POSITION,
} from "./positions.ts";

const VERSION_RULE = "Must be the config_version of an answer of /wg_config.";

/** What an answer says of one position: what to send next, and whether to read from there. */
function newsOf(position: RegExp, example: string) {
  return z.object({
    latest: z.string().regex(position).meta({
      description: "The position to send in the next request. Nothing before it is new.",
      examples: [example],
    }),
    changed: z.boolean().meta({ description: "Whether something is new.", examples: [true] }),
  });
}

const request = z.strictObject({
  agent_id: subject,
  config_version: z.int(VERSION_RULE).min(0, VERSION_RULE).optional().meta({
    description: "The `config_version` of the configuration that the agent runs now.",
    examples: [7],
  }),
  inbox_after: z.string().regex(SENT_INBOX_POSITION, POSITION_RULE).optional().meta({
    description: "The `latest` of an answer of /inbox, or of `inbox` here.",
    examples: ["3f9c1a2b4d5e-81230:81230:"],
  }),
  events_after: z.string().regex(SENT_EVENTS_POSITION, POSITION_RULE).optional().meta({
    description: "The `latest` of an answer of /events, or of `events` here.",
    examples: ["3f9c1a2b4d5e-81234.0"],
  }),
  paths,
  wait_seconds: waitSeconds,
});

const response = z.object({
  config_version: z.int().min(0).optional().meta({
    description: "If the agent runs another version, call /wg_config. Missing without a peer.",
    examples: [8],
  }),
  inbox: newsOf(INBOX_POSITION, "3f9c1a2b4d5e-81230:81230:").optional()
    .meta({ description: "Present with `inbox_after`. If `changed`, call /inbox." }),
  events: newsOf(EVENTS_POSITION, "3f9c1a2b4d5e-81234.0").optional()
    .meta({ description: "Present with `events_after`. If `changed`, call /events." }),
  heartbeat_interval_seconds: z.int().min(1).meta({
    description: "Without `wait_seconds`, send the next request after this many seconds.",
    examples: [30],
  }),
}).meta({ id: "News" });

interface News {
  readonly config_version: number | null;
  readonly inbox?: { readonly latest: string; readonly changed: boolean };
  readonly events?: { readonly latest: string; readonly changed: boolean };
}

/** Creates /wait. Both functions serve all of it, so that an agent needs one request. */
export function createOperation(platform: Platform): Operation {
  const { callDatabase, settings } = platform;
  return defineOperation({
    summary: "Wait for anything new for an agent, in one request.",
    description: "Tells which of the given positions have something new: the agent's " +
      "configuration, its inbox, and its events of both functions. With `wait_seconds`, the answer " +
      "comes as soon as one has. Grants from blocked senders wake nobody. If the agent has a peer, " +
      "the request is also its heartbeat, on arrival and for as long as it waits.",
    tag: "Events",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    isForPrograms: true,
    request,
    response,
    errors: ["position_expired"],
    async handle({ input, caller, request, slot }) {
      const positions = {
        inbox_after: input.inbox_after ?? null,
        events_after: input.events_after ?? null,
      };
      const whose = { caller, agent_id: input.agent_id ?? null };
      const runs = input.config_version ?? null;
      const begin = () =>
        callDatabase<News>("begin_wait", {
          ...whose,
          ...positions,
          config_version: runs,
          rendering_revision: RENDERING_REVISION,
          ...pathsParameter(input.paths),
          wait_seconds: input.wait_seconds,
        });
      const { config_version, inbox, events } = input.wait_seconds === 0
        ? await begin()
        : await (await import("./answer_with_news.ts")).answerWithNews(platform, {
          ask: begin,
          askAgain: () => callDatabase<News>("read_news", { ...whose, ...positions }),
          hasNews: (news) =>
            news.inbox?.changed || news.events?.changed ||
            runs !== null && runs !== versionOf(news),
          waitAfter: (news) => ({
            kind: "all",
            ...whose,
            version: runs === null ? null : news.config_version,
            inbox_after: news.inbox?.latest ?? null,
            events_after: news.events?.latest ?? null,
          }),
        }, { seconds: input.wait_seconds, caller, request, slot });
      const isNews = inbox?.changed || events?.changed ||
        runs !== null && runs !== versionOf({ config_version });
      if (input.wait_seconds === 0 && !isNews) noteOrdinary();
      return {
        ...(config_version !== null && { config_version: sentVersion(config_version) }),
        ...(inbox && { inbox }),
        ...(events && { events }),
        heartbeat_interval_seconds: settings.meshHeartbeatSeconds,
      };
    },
  });
}

/** The version as hosts know it; null: the agent has no peer. */
function versionOf({ config_version }: News): number | null {
  return config_version === null ? null : sentVersion(config_version);
}

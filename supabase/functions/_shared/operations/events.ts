import * as z from "zod";
import { agentId, limit, sentAgentId, sentTimestamp, waitSeconds } from "../request/fields.ts";
import { defineOperation, type Operation, type Platform } from "./operation.ts";
import { EVENTS_POSITION, POSITION_RULE, SENT_EVENTS_POSITION } from "./waiting/positions.ts";

/** The fields that every event has. */
const commonFields = {
  event_id: z.string().meta({ description: "Identifies the event.", pattern: "^evt_[0-9]+$" }),
  at: sentTimestamp.meta({ description: "When it happened." }),
  actor_kind: z.enum(["agent", "user", "operator", "grant_token"])
    .meta({
      description: "What kind of caller did it; `user`: a person who is signed in as the agent.",
    }),
  actor: sentAgentId.nullable()
    .meta({ description: "The agent that did it; null: no agent did." }),
  user_id: z.string().optional()
    .meta({ description: "The id of the user who did it. No agent but `actor` sees it." }),
  key_id: z.string().optional()
    .meta({
      description: "The id of the agent key that was used. No agent but `actor` sees it.",
      pattern: "^key_[0-9a-f]{32}$",
    }),
  agent_id: sentAgentId.nullable()
    .meta({ description: "The agent whose property or access the event is about." }),
};

const COMMON_EXAMPLE = {
  event_id: "evt_4711",
  at: "2026-01-31T09:30:00.000Z",
  actor_kind: "agent",
  actor: "planner",
  agent_id: "planner",
};

interface Page {
  readonly events: readonly unknown[];
  readonly latest: string;
  readonly more: boolean;
}

/**
 * Creates /events of one function. `types` are its event types; `fields` are the fields that its
 * events have besides the common ones.
 */
export function createEventsOperation(
  platform: Platform,
  { types, fields, example, about }: {
    readonly types: readonly [string, ...string[]];
    readonly fields: z.ZodRawShape;
    /** An example of `fields`, for an event of the first type. */
    readonly example: object;
    /** What the events are about, for the OpenAPI document. */
    readonly about: string;
  },
): Operation {
  const { callDatabase, relayDatabase } = platform;
  const type = z.enum(types, "Must be types of this function's events.");
  const happened = type.meta({ description: "What happened." });
  const event = z.object({ ...commonFields, type: happened, ...fields }).meta({
    id: "Event",
    examples: [{ ...COMMON_EXAMPLE, type: types[0], ...example }],
  });
  return defineOperation({
    summary: "List what an agent did and what happened to it, oldest first.",
    description:
      `${about} Without \`after\`, the answer is the newest page. Send \`latest\` as the ` +
      "next `after`: you miss no event, and get none twice. A page may be short or empty although " +
      "`more` is true. The operator may leave `agent_id` out to get the events of all agents.",
    tag: "Events",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.strictObject({
      agent_id: agentId.optional()
        .meta({ description: "The agent whose events to list." }),
      after: z.string().regex(SENT_EVENTS_POSITION, POSITION_RULE).optional()
        .meta({
          description: "The `latest` of an earlier answer.",
          examples: ["3f9c1a2b4d5e-81234.0"],
        }),
      limit,
      types: z.array(type).min(1, "Must name a type.").optional()
        .meta({ description: "Only events of these types." }),
      wait_seconds: waitSeconds,
    }),
    response: z.object({
      events: z.array(event),
      latest: z.string().regex(EVENTS_POSITION).meta({
        description: "The `after` of the next request.",
        examples: ["3f9c1a2b4d5e-81240.0"],
      }),
      more: z.boolean()
        .meta({
          description: "Whether to send the next request at once, because there is more.",
          examples: [false],
        }),
    }),
    errors: ["position_expired"],
    async handle({ input, caller, request, slot }) {
      const question = {
        caller,
        agent_id: input.agent_id ?? null,
        types: input.types ?? types,
        max_entries: input.limit,
        after: input.after ?? null,
      };
      if (input.wait_seconds === 0) return await relayDatabase("list_events", question, "events");
      const { answerWithNews } = await import("./waiting/answer_with_news.ts");
      const page = await answerWithNews<Page>(platform, {
        ask: () => callDatabase("list_events", question),
        hasNews: ({ events, more }) => more || events.length > 0,
        waitAfter: ({ latest }) => {
          const { agent_id, types } = question;
          return { kind: "events", caller, agent_id, types, after: latest };
        },
      }, { seconds: input.wait_seconds, caller, request, slot });
      return Response.json(page);
    },
  });
}

import * as z from "zod";
import { agentId, limit, sentTimestamp, waitSeconds } from "./fields.ts";
import { defineOperation, type Operation, type Platform } from "./operations/operation.ts";

/** A place in the log of events. */
const position = z.string()
  .regex(/^\d{1,19}\.\d{1,18}$/, "Must be the latest of an earlier answer.");

/** The fields that every event has. */
const commonFields = {
  event_id: z.string(),
  at: sentTimestamp,
  actor_kind: z.enum(["agent", "user", "operator", "grant_token"])
    .meta({ description: "Who did it; `user`: a signed-in user who is the agent." }),
  actor: z.string().nullable().meta({ description: "The agent that did it, if it was one." }),
  user_id: z.string().optional()
    .meta({ description: "Which user it was. Other agents than `actor` are not told." }),
  agent_id: z.string().nullable()
    .meta({ description: "The agent whose access or whose thing it was." }),
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

/** /events of one function: `types` are those of its group, `fields` what they have besides. */
export function createEventsOperation(
  platform: Platform,
  { types, fields, example, about }: {
    readonly types: readonly [string, ...string[]];
    readonly fields: z.ZodRawShape;
    /** What an event of the first type has besides the common fields. */
    readonly example: object;
    /** In words, for the document. */
    readonly about: string;
  },
): Operation {
  const { callDatabase, relayDatabase } = platform;
  const type = z.enum(types, "Must be types of this function's events.");
  const event = z.object({ ...commonFields, type, ...fields }).meta({
    id: "Event",
    examples: [{ ...COMMON_EXAMPLE, type: types[0], ...example }],
  });
  return defineOperation({
    summary: "What happened to an agent and what it did, oldest first.",
    description: `${about} Without \`after\` it is the newest page. Who goes on from \`latest\` ` +
      "misses nothing and sees nothing twice. A page may be short, or empty, where there is `more`." +
      " The operator may leave `agent_id` out, for the events of all agents.",
    tag: "Events",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({
      agent_id: agentId.optional(),
      after: position.optional()
        .meta({ description: "The `latest` of an earlier answer.", examples: ["81234.0"] }),
      limit,
      types: z.array(type).min(1, "Must name a type.").optional(),
      wait_seconds: waitSeconds,
    }),
    response: z.object({
      events: z.array(event),
      latest: z.string().meta({
        description: "`after` of the next request.",
        examples: ["81240.0"],
      }),
      more: z.boolean()
        .meta({ description: "Whether to send the next request at once.", examples: [false] }),
    }),
    errors: [],
    async handle({ input, caller, request, slot }) {
      const question = {
        caller,
        agent_id: input.agent_id ?? null,
        types: input.types ?? types,
        max_entries: input.limit,
        after: input.after ?? null,
      };
      if (input.wait_seconds === 0) return await relayDatabase("list_events", question);
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

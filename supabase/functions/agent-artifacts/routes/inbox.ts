import * as z from "zod";
import {
  agentId,
  limit,
  sentAgentId,
  sentTimestamp,
  subject,
  waitSeconds,
} from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  INBOX_POSITION,
  POSITION_RULE,
  SENT_INBOX_POSITION,
} from "../../_shared/operations/waiting/positions.ts";
import {
  content,
  CURSOR,
  nextCursor,
  sentDelivery,
  sentExpiry,
  sentGrantId,
  sentNote,
  sentReplyTo,
} from "../fields.ts";

const inboxEntry = z.object({
  ...content,
  grant_id: sentGrantId,
  from_agent: sentAgentId.meta({ description: "The agent that gave the grant." }),
  granted_at: sentTimestamp.meta({ description: "When it was granted." }),
  expires_at: sentExpiry.meta({ description: "When the grant expires." }),
  note: sentNote,
  reply_to: sentReplyTo,
  deliver: sentDelivery,
  superseded: z.boolean().optional().meta({
    description: "Whether the agent has committed another file under the same name since.",
    examples: [false],
  }),
}).meta({ id: "InboxEntry" });

const response = z.object({
  grants: z.array(inboxEntry),
  next_cursor: nextCursor,
  latest: z.string().regex(INBOX_POSITION)
    .meta({
      description: "The `after` of the next request.",
      examples: ["3f9c1a2b4d5e-81234:81234:"],
    }),
});

export function createOperation(platform: Platform): Operation {
  const { callDatabase, relayDatabase } = platform;
  return defineOperation({
    summary: "List the live grants to an agent and to its tags, newest first.",
    description: "Tokens are never shown: the agent opens a file with /open. `after` lists only " +
      "what was granted since an earlier answer: send its `latest`, and you miss nothing. A tag " +
      "that the agent got since then adds every live grant to that tag. With " +
      "`wait_seconds`, the answer comes as soon as there is a grant to list.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.strictObject({
      agent_id: subject.meta({ examples: ["builder"] }),
      from_agent: agentId.optional()
        .meta({ description: "Only grants from this agent.", examples: ["planner"] }),
      after: z.string().regex(SENT_INBOX_POSITION, POSITION_RULE).optional()
        .meta({
          description: "The `latest` of an earlier answer.",
          examples: ["3f9c1a2b4d5e-81230:81230:"],
        }),
      limit,
      cursor: z.string()
        // The last grant of the previous page.
        .regex(/^grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional().meta(CURSOR),
      wait_seconds: waitSeconds,
    }),
    response,
    errors: ["position_expired"],
    async handle({ input, caller, request, slot }) {
      const whose = {
        caller,
        agent_id: input.agent_id ?? null,
        from_agent: input.from_agent ?? null,
      };
      const question = {
        ...whose,
        max_entries: input.limit,
        after_grant_id: input.cursor ?? null,
        after: input.after ?? null,
      };
      if (input.wait_seconds === 0) {
        return await relayDatabase("list_inbox", question, "grants");
      }
      const { answerWithNews } = await import(
        "../../_shared/operations/waiting/answer_with_news.ts"
      );
      return await answerWithNews<z.output<typeof response>>(platform, {
        ask: () => callDatabase("list_inbox", question),
        hasNews: ({ grants }) => grants.length > 0,
        waitAfter: ({ latest }) => ({ kind: "inbox", ...whose, after: latest }),
      }, { seconds: input.wait_seconds, caller, request, slot });
    },
  });
}

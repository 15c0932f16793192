import * as z from "zod";
import { agentId, limit, sentTimestamp, subject, waitSeconds } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  nextCursor,
  sentArtifactId,
  sentExpiry,
  sentGrantId,
  sentKey,
  sentMime,
  sentSha256,
  sentSize,
} from "../fields.ts";

const inboxEntry = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  from_agent: z.string().meta({ examples: ["planner"] }),
  key: sentKey,
  mime: sentMime,
  size: sentSize,
  sha256: sentSha256,
  granted_at: sentTimestamp,
  expires_at: sentExpiry,
}).meta({ id: "InboxEntry" });

/** The snapshot of the database that an inbox was read in. */
const position = z.string()
  .regex(
    /^\d{1,19}:\d{1,19}:(?:\d{1,19}(?:,\d{1,19})*)?$/,
    "Must be the latest of an earlier answer.",
  );

const response = z.object({
  grants: z.array(inboxEntry),
  next_cursor: nextCursor,
  latest: z.string()
    .meta({ description: "`after` of a later request.", examples: ["81234:81234:"] }),
});

export function createOperation(platform: Platform): Operation {
  const { callDatabase, relayDatabase } = platform;
  return defineOperation({
    summary: "The live grants to an agent, newest first.",
    description: "It never shows a token: an agent opens what was granted to it with /open. With " +
      "`after` it shows what was granted since; who goes on from `latest` misses nothing. With " +
      "`wait_seconds` it answers as soon as there is something to show.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({
      agent_id: subject.meta({ examples: ["builder"] }),
      from_agent: agentId.optional()
        .meta({ description: "Only grants of this agent.", examples: ["planner"] }),
      after: position.optional()
        .meta({ description: "The `latest` of an earlier answer.", examples: ["81230:81230:"] }),
      limit,
      cursor: z.string()
        // The grant that the page before ended with.
        .regex(/^grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional(),
      wait_seconds: waitSeconds,
    }),
    response,
    errors: [],
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
      if (input.wait_seconds === 0) return await relayDatabase("list_inbox", question);
      const { answerWithNews } = await import("../../_shared/waiting/answer_with_news.ts");
      return await answerWithNews<z.output<typeof response>>(platform, {
        ask: () => callDatabase("list_inbox", question),
        hasNews: ({ grants }) => grants.length > 0,
        waitAfter: ({ latest }) => ({ kind: "inbox", ...whose, after: latest }),
      }, { seconds: input.wait_seconds, caller, request, slot });
    },
  });
}

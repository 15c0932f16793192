import * as z from "zod";
import { agentId, subject, waitSeconds } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { prefix } from "../../fields.ts";
import { inboxEntry, seconds, sentTakeId, sentTakenUntil } from "../../tasks.ts";

const MAX_RULE = "Must be a whole number from 1 to 50.";

const response = z.object({
  tasks: z.array(
    z.object({ take_id: sentTakeId, taken_until: sentTakenUntil, ...inboxEntry.shape })
      .meta({ id: "Task" }),
  ),
});

export function createOperation(platform: Platform): Operation {
  const { callDatabase, relayDatabase } = platform;
  return defineOperation({
    summary: "Take grants as work, the oldest first: nobody else gets them meanwhile.",
    description:
      "Answer each with /inbox/done or /inbox/fail before `taken_until`, or extend it. " +
      "A take that lapses counts as an attempt, and the task can be taken again. With " +
      "`wait_seconds`, the answer comes as soon as there is a task.",
    tag: "Tasks",
    callers: "the agent itself",
    effect: "renews",
    identification: "required",
    request: z.strictObject({
      agent_id: subject.meta({ examples: ["builder"] }),
      max: z.int(MAX_RULE).min(1, MAX_RULE).max(50, MAX_RULE).default(1)
        .meta({ description: "How many tasks to take." }),
      seconds: seconds.default(300),
      prefix: prefix.optional(),
      from_agent: agentId.optional()
        .meta({ description: "Only grants from this agent.", examples: ["planner"] }),
      wait_seconds: waitSeconds,
    }),
    response,
    errors: [],
    async handle({ input, caller, request, slot }) {
      const filter = {
        caller,
        agent_id: input.agent_id ?? null,
        prefix: input.prefix ?? null,
        from_agent: input.from_agent ?? null,
      };
      const question = { ...filter, max_entries: input.max, seconds: input.seconds };
      if (input.wait_seconds === 0) return await relayDatabase("take_tasks", question, "tasks");
      const { answerWithNews } = await import(
        "../../../_shared/operations/waiting/answer_with_news.ts"
      );
      return await answerWithNews<z.output<typeof response>>(platform, {
        ask: () => callDatabase("take_tasks", question),
        hasNews: ({ tasks }) => tasks.length > 0,
        waitAfter: () => ({ kind: "tasks", ...filter }),
      }, { seconds: input.wait_seconds, caller, request, slot });
    },
  });
}

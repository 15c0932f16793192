import * as z from "zod";
import { limit, sentAgentId, sentTimestamp, subject, tag } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { AGENT_ID, TAG } from "../../_shared/identity/named_ids.ts";
import { CURSOR, nextCursor } from "../fields.ts";

/** The last name of a page; `#` comes before a tag. */
const PLACE = new RegExp(`^(?:${AGENT_ID.source.slice(1, -1)}|#${TAG.source.slice(1, -1)})$`);

const recipient = z.object({
  agent_id: sentAgentId.nullable().meta({
    description: "The other agent; null: the entry is about `tag`.",
    examples: ["builder"],
  }),
  tag: tag.optional().meta({
    description: "The tag to which the agent has given. Missing if the entry is about an agent.",
    examples: ["tag:builder"],
  }),
  given_until: sentTimestamp.nullable().meta({
    description: "When the last of the live grants to it expires; null: there is no such grant.",
  }),
  received_until: sentTimestamp.nullable().meta({
    description: "When the last of its live grants to the agent, or to a tag of the agent, " +
      "expires; null: there is no such grant, or the agent has blocked it.",
  }),
}).meta({ id: "Recipient" });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "List whom an agent has handed files to, and who has handed files to it.",
    description:
      "Every agent and tag with a live grant from the agent, and every agent with a live grant " +
      "to it or to a tag of it. Tags come first; tags and agents are each in byte order. Whom " +
      "a policy allows does not matter. A page may be short or empty although there is a next one.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    isForPrograms: true,
    request: z.strictObject({
      agent_id: subject,
      limit,
      cursor: z.string()
        .regex(PLACE, "Must be the next_cursor of an earlier answer.")
        .optional().meta(CURSOR),
    }),
    response: z.object({ recipients: z.array(recipient), next_cursor: nextCursor }),
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_recipients", {
        caller,
        agent_id: input.agent_id ?? null,
        max_entries: input.limit,
        after_name: input.cursor ?? null,
      });
    },
  });
}

/** The fields of grants as work. */
import * as z from "zod";
import { sentAgentId, sentTimestamp, wellFormedText } from "../_shared/request/fields.ts";
import { content, sentDelivery, sentExpiry, sentGrantId, sentNote, sentReplyTo } from "./fields.ts";

export const STATES = ["waiting", "taken", "done", "parked"] as const;

export const sentState = z.enum(STATES).meta({
  description: "`waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or " +
    "for good, and waits for its giver.",
  examples: ["waiting"],
});

export const sentNextAt = sentTimestamp.nullable()
  .meta({ description: "When its pause ends; null: it has none.", examples: [null] });

export const inboxEntry = z.object({
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
  state: sentState.optional(),
  attempt: z.int().min(0).optional()
    .meta({ description: "How often it was taken so far.", examples: [0] }),
  next_at: sentNextAt.optional(),
}).meta({ id: "InboxEntry" });

const TAKE_ID = /^take_[0-9a-f]{32}$/;
const TAKE_ID_EXAMPLE = "take_5d2f8e1a7c4b4f0d9e6a3b2c1d0e9f87";

/** Any other text names no take. */
export const takeId = wellFormedText
  .meta({ description: "The take, `take_` and 32 hex digits.", examples: [TAKE_ID_EXAMPLE] })
  .transform((text) => TAKE_ID.test(text) ? text : "");

export const sentTakeId = z.string().regex(TAKE_ID).meta({
  description: "Names this take. It is needed to extend, finish or fail it.",
  examples: [TAKE_ID_EXAMPLE],
});

export const sentTakenUntil = sentTimestamp.meta({
  description: "When the take lapses, unless it is extended: then another agent may get the task.",
});

const aTime = (description: string) =>
  sentTimestamp.nullable().optional().meta({ description, examples: [null] });

const counted = (state: string) =>
  z.int().min(0).max(2000)
    .meta({ description: `How many of its tasks are ${state}.`, examples: [2] });

/** A grant as work, in the list of its giver. */
export const givenWork = {
  note: sentNote,
  deliver: z.enum(["each", "one"]).nullable().optional().meta({
    description: "Whether each agent of the tag works on it, or one; null: for anyone with the " +
      "token.",
    examples: ["each"],
  }),
  state: sentState.nullable().optional().meta({
    description: "What became of it; null: see `tasks`, or the grant is for anyone with the token.",
    examples: ["waiting"],
  }),
  attempt: z.int().min(0).nullable().optional()
    .meta({ description: "How often it was taken so far.", examples: [0] }),
  shown_at: aTime("When the grantee first saw it: in its /inbox, or by taking it."),
  taken_by: sentAgentId.nullable().optional().meta({
    description: "The agent that holds it, or that finished it; null: nobody does.",
    examples: [null],
  }),
  taken_until: aTime("When the take lapses; null: nobody holds it."),
  done_at: aTime("When it was done; null: it is not."),
  reason: z.string().min(1).max(500).nullable().optional().meta({
    description: "Why the last attempt failed, in the words of its taker; null: it did not.",
    examples: [null],
  }),
  reply_grant_id: sentGrantId.nullable().optional().meta({
    description: "The grant that answers it; null: it has no answer.",
    examples: [null],
  }),
  tasks: z.object({
    waiting: counted("waiting"),
    taken: counted("taken"),
    done: counted("done"),
    parked: counted("parked"),
  })
    .nullable().optional().meta({
      description: "For a grant to each agent of a tag: how many of them have it in which state, " +
        "counted up to about 1000; null: for any other.",
      examples: [null],
    }),
};

const SECONDS_RULE = "Must be a whole number from 30 to 3600.";
export const seconds = z.int(SECONDS_RULE).min(30, SECONDS_RULE).max(3600, SECONDS_RULE)
  .meta({ description: "For how many seconds the caller holds it.", examples: [300] });

/** The errors of calls that name a take. */
export const TAKE_ERRORS = [
  "take_lapsed",
  "grant_revoked",
  "grant_expired",
  "artifact_expired",
] as const;

/** The field rules of both functions. Values that these schemas accept are trusted inside. */
import * as z from "zod";
import { AGENT_ID, TAG } from "../identity/named_ids.ts";

/** Any text that can be stored and sent as UTF-8. Lone surrogates cannot. */
export const wellFormedText = z.string().refine(
  (text) => text.isWellFormed(),
  "Must be well-formed Unicode, without lone surrogates.",
);

/** Whether the database can store a text. It cannot store U+0000 and lone surrogates. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

export const agentId = z.string()
  .regex(
    AGENT_ID,
    "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit.",
  )
  .meta({ description: "An agent's identifier.", examples: ["planner"] });

/** An agent in an answer. */
export const sentAgentId = z.string().regex(AGENT_ID).meta({ examples: ["planner"] });

/** The agent that an answer is about. */
export const sentSubject = sentAgentId.meta({ description: "The agent that the answer is about." });

/** The agent that a request is about. The database checks that the operator named one. */
export const subject = agentId.optional()
  .meta({ description: "Required from the operator. An agent may only name itself." });

const LIMIT_RULE = "Must be a whole number from 1 to 1000.";
export const limit = z.int(LIMIT_RULE).min(1, LIMIT_RULE).max(1000, LIMIT_RULE).default(100)
  .meta({ description: "The page size." });

/** The platform ends a request that has no answer after 150 seconds. */
const WAIT_RULE = "Must be a whole number from 0 to 140.";
export const waitSeconds = z.int(WAIT_RULE).min(0, WAIT_RULE).max(140, WAIT_RULE).default(0)
  .meta({
    description: "How many seconds to wait for something new.",
    examples: [30],
  });

const TIMESTAMP =
  /^[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}(?:\.([0-9]{1,9}))?(?:Z|\+00:00)$/;
const TIMESTAMP_RULE = "Must be an ISO 8601 timestamp in UTC, such as 2026-01-31T09:30:00Z.";

/** ISO 8601 in UTC. The parsed value has milliseconds and `Z`; finer digits are cut off. */
export const timestamp = z.string()
  // Before `transform`: metadata after it would describe the output.
  .meta({ format: "date-time", examples: ["2026-02-07T09:30:00Z"] })
  .regex(TIMESTAMP, TIMESTAMP_RULE)
  .refine((text) => normaliseTimestamp(text) !== null, TIMESTAMP_RULE)
  .transform((text) => normaliseTimestamp(text) ?? text);

/** A timestamp as answers contain it. */
export const sentTimestamp = z.string()
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/)
  .meta({ format: "date-time", examples: ["2026-01-31T09:30:00.000Z"] });

function normaliseTimestamp(text: string): string | null {
  const parts = TIMESTAMP.exec(text);
  if (parts === null || text.startsWith("0000")) return null;
  const milliseconds = (parts[1] ?? "").slice(0, 3).padEnd(3, "0");
  const normalised = `${text.slice(0, 19)}.${milliseconds}Z`;
  const instant = new Date(normalised);
  // `Date` turns February 30 into March 2. Only a date that comes back unchanged is valid.
  if (Number.isNaN(instant.getTime()) || instant.toISOString() !== normalised) return null;
  return normalised;
}

/** A tag of an agent, by which grants and the policy name many agents at once. */
export const tag = z.string()
  .regex(TAG, "Must be tag: and 1 to 63 of a-z 0-9 - that begin with a letter or digit.");

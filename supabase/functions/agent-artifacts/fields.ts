/** The field rules of artifacts and grants, and the shapes that several operations answer with. */
import * as z from "zod";
import { agentId, wellFormedText } from "../_shared/fields.ts";

const MAX_KEY_BYTES = 1024;

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

export const key = wellFormedText
  .refine(
    (text) => text !== "" && byteLength(text) <= MAX_KEY_BYTES,
    `Must have 1 to ${MAX_KEY_BYTES} bytes of UTF-8.`,
  )
  .refine(
    (text) => !/[\p{Cc}\\]/u.test(text),
    "Must not contain control characters or backslashes.",
  )
  .refine(
    (text) => text.split("/").every(isSegment),
    "Must be segments joined by `/`, none of them empty, `.` or `..`.",
  )
  .meta({ description: "The agent's name for the artifact.", examples: ["reports/2026/july.pdf"] });

export const prefix = wellFormedText
  .refine(
    (text) => byteLength(text) <= MAX_KEY_BYTES,
    `Must have at most ${MAX_KEY_BYTES} bytes of UTF-8.`,
  )
  .refine(
    (text) => !/[\p{Cc}\\]/u.test(text),
    "Must not contain control characters or backslashes.",
  )
  .refine(
    // The last segment may stop anywhere: nothing yet, or a dot that a longer name begins with.
    (text) => text.split("/").slice(0, -1).every(isSegment),
    "Must be the beginning of a key.",
  )
  .meta({ description: "What the keys begin with.", examples: ["reports/2026/"] });

function isSegment(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== "..";
}

const RESTRICTED_NAME = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}";
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED_STRING = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*"';
const MEDIA_TYPE = new RegExp(
  `^${RESTRICTED_NAME}/${RESTRICTED_NAME}(?: *; *${TOKEN}=(?:${TOKEN}|${QUOTED_STRING}))*$`,
);

/** RFC 6838, section 4.2, for type and subtype; RFC 9110, section 5.6.6, for parameters. */
export const mime = z.string()
  .max(255, "Must have at most 255 characters.")
  .regex(MEDIA_TYPE, "Must be a media type, such as application/pdf or text/plain; charset=utf-8.")
  .meta({ examples: ["application/pdf"] });

export const sha256 = z.string()
  .regex(/^[0-9A-Fa-f]{64}$/, "Must be 64 hex digits.")
  .transform((text) => text.toLowerCase())
  .meta({ description: "SHA-256 of the bytes." });

/**
 * An identifier or token of another form names nothing. It becomes the empty text, which names nothing either, so
 * that the database, which authenticates first, is the one to say so.
 */
function nameOf(form: RegExp) {
  return wellFormedText.transform((text) => form.test(text) ? text : "");
}

export const artifactId = nameOf(/^art_[0-9a-f]{32}$/).meta({ examples: ["art_…"] });
export const grantId = nameOf(/^grant_[0-9a-f]{32}$/).meta({ examples: ["grant_…"] });
export const grantToken = nameOf(/^g_[A-Za-z0-9_-]{43}$/).meta({ examples: ["g_…"] });

export const limit = z.int("Must be a whole number from 1 to 1000.")
  .min(1, "Must be a whole number from 1 to 1000.")
  .max(1000, "Must be a whole number from 1 to 1000.")
  .default(100);

export const artifact = z.object({
  artifact_id: z.string(),
  agent_id: z.string(),
  key: z.string(),
  mime: z.string(),
  size: z.int(),
  ttl_days: z.int(),
  sha256: z.string().nullable(),
  state: z.enum(["pending", "committed", "superseded", "deleted"]),
  created_at: z.string(),
  committed_at: z.string().nullable(),
  expires_at: z.string().nullable(),
});

export type Artifact = z.output<typeof artifact>;

export const owner = agentId.meta({ description: "The owning agent." });

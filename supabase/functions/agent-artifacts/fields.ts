/** The field rules of artifacts and grants, and the shapes that several operations answer with. */
import * as z from "zod";
import { sentTimestamp, wellFormedText } from "../_shared/fields.ts";

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

const SHA256_EXAMPLE = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";

export const sha256 = z.string()
  .meta({ description: "SHA-256 of the bytes.", examples: [SHA256_EXAMPLE] })
  .regex(/^[0-9A-Fa-f]{64}$/, "Must be 64 hex digits.")
  .transform((text) => text.toLowerCase());

/**
 * An identifier or token of another form names nothing. It becomes the empty text, which names
 * nothing either, so that the database, which authenticates first, is the one to say so.
 */
function nameOf(form: RegExp, described: { description: string; examples: string[] }) {
  return wellFormedText.meta(described).transform((text) => form.test(text) ? text : "");
}

export const ARTIFACT_ID = {
  description: "Names one content, which never changes.",
  examples: ["art_6f1c0a5be2d94c738e9b1d2f3a4c5b60"],
};
const GRANT_ID = {
  description: "Names a grant, and gives access to nothing.",
  examples: ["grant_0b7e4d1c9a2f48f6b3d5e6c7a8f90122"],
};
const GRANT_TOKEN = {
  description: "The capability that /fetch and the link take. Whoever has it has the access.",
  examples: ["g_qk0vXy3Jw7nRZb2LhT8sUe5CfA1dGmPiOo4NtK6WxYz"],
};

export const artifactId = nameOf(/^art_[0-9a-f]{32}$/, ARTIFACT_ID);
export const grantId = nameOf(/^grant_[0-9a-f]{32}$/, GRANT_ID);
export const grantToken = nameOf(/^g_[A-Za-z0-9_-]{43}$/, GRANT_TOKEN);

/** The fields of an answer that several operations have. */
export const sentArtifactId = z.string().meta(ARTIFACT_ID);
export const sentGrantId = z.string().meta(GRANT_ID);
export const sentGrantToken = z.string().meta(GRANT_TOKEN);
export const sentGrantee = z.string().nullable()
  .meta({ description: "Null: whoever has the token.", examples: ["builder"] });
export const sentKey = z.string().meta({ examples: ["reports/2026/july.pdf"] });
export const sentMime = z.string().meta({ examples: ["application/pdf"] });
export const sentSize = z.int().meta({ description: "In bytes.", examples: [48_213] });
export const sentSha256 = z.string().regex(/^[0-9a-f]{64}$/).meta({ examples: [SHA256_EXAMPLE] });
export const sentExpiry = sentTimestamp.meta({ examples: ["2026-02-07T09:30:00.000Z"] });
export const nextCursor = z.string().nullable().meta({
  description: "The `cursor` of the next page; null: this is the last.",
  examples: [null],
});

export const artifact = z.object({
  artifact_id: sentArtifactId,
  agent_id: z.string().meta({ examples: ["planner"] }),
  key: sentKey,
  mime: sentMime,
  size: sentSize,
  ttl_days: z.int().meta({ examples: [7] }),
  sha256: sentSha256.nullable(),
  state: z.enum(["pending", "committed", "superseded", "deleted"])
    .meta({ examples: ["committed"] }),
  created_at: sentTimestamp.meta({ examples: ["2026-01-31T09:29:58.120Z"] }),
  committed_at: sentTimestamp.nullable(),
  expires_at: sentExpiry.nullable(),
}).meta({ id: "Artifact" });

export type Artifact = z.output<typeof artifact>;

/** What an artifact's fields are before its commit, for examples. */
export const uncommitted = {
  sha256: artifact.shape.sha256.meta({ examples: [null] }),
  committed_at: artifact.shape.committed_at.meta({ examples: [null] }),
  expires_at: artifact.shape.expires_at.meta({ examples: [null] }),
};

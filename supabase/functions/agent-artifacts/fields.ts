/** The field rules of artifacts and grants, and the shapes that several operations answer with. */
import * as z from "zod";
import { sentAgentId, sentTimestamp, tag, wellFormedText } from "../_shared/request/fields.ts";
import { sentMetadata } from "./metadata.ts";

const MAX_KEY_BYTES = 1024;

function hasFewBytes(text: string): boolean {
  return new TextEncoder().encode(text).byteLength <= MAX_KEY_BYTES;
}

/**
 * /openapi.json has these patterns too, and clients in any language compile them. So they use no
 * look-ahead, which RE2 lacks, and no Unicode classes, which Python lacks.
 */
const NO_SLASH = String.raw`[^/\\\x00-\x1f\x7f-\x9f]`;
const NO_SLASH_OR_DOT = String.raw`[^./\\\x00-\x1f\x7f-\x9f]`;
/** Not empty, not `.`, not `..`. */
const SEGMENT = String.raw`(?:\.*${NO_SLASH_OR_DOT}${NO_SLASH}*|\.{3,})`;
const KEY = new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`);
/** The last segment may be incomplete: empty, or a dot that begins a longer name. */
const PREFIX = new RegExp(`^(?:${SEGMENT}/)*${NO_SLASH}*$`);

/** Refuses some texts that the patterns refuse too, but with a message of its own. */
const visibleText = wellFormedText.refine(
  (text) => !/[\p{Cc}\\]/u.test(text),
  "Must not contain control characters or backslashes.",
);

const KEY_LENGTH_RULE = `Must have 1 to ${MAX_KEY_BYTES} bytes of UTF-8.`;
const PREFIX_LENGTH_RULE = `Must have at most ${MAX_KEY_BYTES} bytes of UTF-8.`;

// `max` counts characters, as JSON Schema does. Every character has at least one byte, so `max`
// never refuses a text that hasFewBytes accepts.
export const key = visibleText
  .min(1, KEY_LENGTH_RULE)
  .max(MAX_KEY_BYTES, KEY_LENGTH_RULE)
  .refine(hasFewBytes, KEY_LENGTH_RULE)
  .regex(KEY, "Must be segments joined by `/`. None may be empty, `.` or `..`.")
  .meta({
    description: "The file's name: at most 1024 bytes of UTF-8, in segments joined by `/`.",
    examples: ["reports/2026/july.pdf"],
  });

export const prefix = visibleText
  .max(MAX_KEY_BYTES, PREFIX_LENGTH_RULE)
  .refine(hasFewBytes, PREFIX_LENGTH_RULE)
  .regex(PREFIX, "Must be the beginning of a file's name (`key`).")
  .meta({
    description: "The beginning of the files' names: at most 1024 bytes of UTF-8.",
    examples: ["reports/2026/"],
  });

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
  .meta({ description: "The file's media type.", examples: ["application/pdf"] });

const SHA256_EXAMPLE = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";

export const sha256 = z.string()
  .meta({ description: "The SHA-256 digest of the file, in hex.", examples: [SHA256_EXAMPLE] })
  .regex(/^[0-9A-Fa-f]{64}$/, "Must be 64 hex digits.")
  .transform((text) => text.toLowerCase());

/**
 * A malformed identifier or token matches nothing. It becomes the empty text, which matches nothing
 * either. So the database refuses it, after it has authenticated the caller.
 */
export function nameOf(form: RegExp, described: { description: string; examples: string[] }) {
  return wellFormedText.meta(described).transform((text) => form.test(text) ? text : "");
}

const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;
const GRANT_ID = /^grant_[0-9a-f]{32}$/;
const GRANT_TOKEN = /^g_[A-Za-z0-9_-]{43}$/;

export const ARTIFACT_ID_EXAMPLE = "art_6f1c0a5be2d94c738e9b1d2f3a4c5b60";
const GRANT_ID_EXAMPLE = "grant_0b7e4d1c9a2f48f6b3d5e6c7a8f90122";
const GRANT_TOKEN_EXAMPLE = "g_qk0vXy3Jw7nRZb2LhT8sUe5CfA1dGmPiOo4NtK6WxYz";

export const artifactId = nameOf(ARTIFACT_ID, {
  description: "The artifact's id, `art_` and 32 hex digits.",
  examples: [ARTIFACT_ID_EXAMPLE],
});
export const grantId = nameOf(GRANT_ID, {
  description: "The grant's id, `grant_` and 32 hex digits.",
  examples: [GRANT_ID_EXAMPLE],
});
export const grantToken = nameOf(GRANT_TOKEN, {
  description: "A grant token, `g_` and 43 characters.",
  examples: [GRANT_TOKEN_EXAMPLE],
});

const MAX_DOWNLOADS_RULE = "Must be a whole number from 1 to 1000.";
export const maxDownloads = z.int(MAX_DOWNLOADS_RULE).min(1, MAX_DOWNLOADS_RULE)
  .max(1000, MAX_DOWNLOADS_RULE);

const NOTE_RULE = "Must be 1 to 2000 characters, without control characters but newline and tab.";
/** What a giver says about a file. */
export const note = wellFormedText.min(1, NOTE_RULE).max(2000, NOTE_RULE)
  .regex(new RegExp(String.raw`^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`), NOTE_RULE)
  .meta({ description: "What the file is for.", examples: ["Build this plan, please."] });

/** How a grant to a tag is worked on. */
export const DELIVERIES = ["each", "one"] as const;

/** The fields of an answer that several operations have. */
export const sentArtifactId = z.string().regex(ARTIFACT_ID).meta({
  description: "Identifies the artifact. An artifact's content never changes.",
  examples: [ARTIFACT_ID_EXAMPLE],
});
export const sentGrantId = z.string().regex(GRANT_ID).meta({
  description: "Identifies the grant. Nobody gets access by knowing it.",
  examples: [GRANT_ID_EXAMPLE],
});
export const sentGrantToken = z.string().regex(GRANT_TOKEN)
  .meta({ examples: [GRANT_TOKEN_EXAMPLE] });
export const sentGrantee = sentAgentId.nullable().meta({
  description: "The agent that has access; null: every agent with `to_tag`, if that is there, " +
    "otherwise anyone with the token.",
  examples: ["builder"],
});
/** Optional, so that answers about grants without a tag look as they did before there were tags. */
export const sentTag = tag.optional().meta({
  description: "The tag whose agents have access. Missing if the grant is not to a tag.",
});
/** Whether a request names an agent, a tag or nobody, but not both. */
export function namesOneGrantee(
  { to_agent, to_tag }: {
    to_agent?: string | null | undefined;
    to_tag?: string | null | undefined;
  },
): boolean {
  return (to_agent ?? null) === null || (to_tag ?? null) === null;
}
export const ONE_GRANTEE = {
  path: ["to_tag"],
  message: "Must not be sent with to_agent.",
  // Checked even if other fields are bad, so that one answer names all of them.
  when: () => true,
};
export const sentNote = note.nullable().optional()
  .meta({ description: "What the giver says about it; null: nothing.", examples: [null] });
export const sentReplyTo = sentGrantId.nullable().optional()
  .meta({ description: "The grant that this one answers; null: none.", examples: [null] });
export const sentDelivery = z.enum(DELIVERIES).optional().meta({
  description: "`one`: exactly one agent of the tag works on it.",
  examples: ["each"],
});
export const sentKey = z.string().regex(KEY)
  .meta({ description: "The file's name.", examples: ["reports/2026/july.pdf"] });
export const sentSha256 = z.string().regex(/^[0-9a-f]{64}$/).meta({
  description: "The SHA-256 digest of the file, in lower-case hex.",
  examples: [SHA256_EXAMPLE],
});
export const sentExpiry = sentTimestamp.meta({ examples: ["2026-02-07T09:30:00.000Z"] });
/** The request's field for the next page. */
export const CURSOR = { description: "The previous page's `next_cursor`." };
export const nextCursor = z.string().nullable().meta({
  description: "The `cursor` of the next page; null: this is the last page.",
  examples: [null],
});

const VERSION_RULE = "Must be a whole number, at least 1.";
export const version = z.int(VERSION_RULE).min(1, VERSION_RULE);
/** Optional, because the schema of an older release does not return it. */
export const sentVersion = version.nullable().optional().meta({
  description: "Counts the commits under the file's name, from 1. A number is never used again. " +
    "Null before the commit.",
  examples: [3],
});

/** What every answer about an artifact has. `artifacts.content_json` makes it. */
export const content = {
  artifact_id: sentArtifactId,
  key: sentKey,
  mime: z.string().regex(MEDIA_TYPE)
    .meta({ description: "The file's media type.", examples: ["application/pdf"] }),
  size: z.int().min(0).meta({ description: "The file's size in bytes.", examples: [48_213] }),
  sha256: sentSha256,
  version: sentVersion,
  metadata: sentMetadata,
};

export const artifact = z.object({
  ...content,
  agent_id: sentAgentId.meta({ description: "The agent that owns the artifact." }),
  ttl_days: z.int().min(1)
    .meta({ description: "How many days the artifact lasts after its commit.", examples: [7] }),
  sha256: sentSha256.nullable().meta({
    description: "The SHA-256 digest of the file, in lower-case hex; null before the commit.",
  }),
  state: z.enum(["pending", "committed", "superseded", "deleted"]).meta({
    description: "`pending` until it is committed; `superseded` after its agent has committed " +
      "another file under the same name.",
    examples: ["committed"],
  }),
  created_at: sentTimestamp
    .meta({ description: "When it was registered.", examples: ["2026-01-31T09:29:58.120Z"] }),
  committed_at: sentTimestamp.nullable()
    .meta({ description: "When it was committed; null before the commit." }),
  expires_at: sentExpiry.nullable()
    .meta({ description: "When it expires; null before the commit." }),
}).meta({ id: "Artifact" });

export type Artifact = z.output<typeof artifact>;

/** The fields that are null before the commit, for examples. */
export const uncommitted = {
  sha256: artifact.shape.sha256.meta({ examples: [null] }),
  committed_at: artifact.shape.committed_at.meta({ examples: [null] }),
  expires_at: artifact.shape.expires_at.meta({ examples: [null] }),
  version: sentVersion.meta({ examples: [null] }),
};

/** Calls about grants to tags, by an agent with the maximum number of tags, and their bounds. */
import { as, call, OPERATOR, type PlannedCall } from "./planned_call.ts";
import {
  EPOCH,
  GRANTEE,
  sha256,
  TAGGED,
  taggedArtifactIdOf,
  tagGrantIdOf,
  TAGS,
} from "../../bench/fill/cast.ts";

/** An artifact with very many grants to the first tag, nearly all of which have ended. */
const OF_FIRST_TAG = taggedArtifactIdOf(32);
const INBOX = { caller: as(TAGGED), agent_id: null, max_entries: 50, after_grant_id: null };
// The positions before and after all rows.
const BEGINNING = `${EPOCH}-3:3:`;
const END = `${EPOCH}-1000000000:1000000000:`;
/** Bounds for a page that reads more than it shows, and looks up each row once more. */
const ONE_WALK = { rows: 6_000, pages: 9_000 };

export const TAG_CALLS: readonly PlannedCall[] = [
  call("grant_artifact", {
    caller: OPERATOR,
    artifact_id: OF_FIRST_TAG,
    to_agent: null,
    to_tag: TAGS[0],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: sha256("any token"),
    max_live_grants: 1000,
  }, { circumstances: "to a tag" }),
  call("revoke_grants", {
    caller: OPERATOR,
    artifact_id: OF_FIRST_TAG,
    to_agent: null,
    to_tag: TAGS[0],
    grant_id: null,
  }, { circumstances: "to a tag, beside grants of the same that ended" }),
  call("open_artifact", {
    caller: as(TAGGED),
    artifact_id: OF_FIRST_TAG,
    window_seconds: 60,
  }, { circumstances: "by a tag, beside grants of the same that ended" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: OF_FIRST_TAG,
    window_seconds: 60,
  }, { circumstances: "that was granted to tags of others", refused: true }),
  call("list_inbox", INBOX, {
    circumstances: "with 32 tags, and more grants than a page looks at",
    bounds: ONE_WALK,
  }),
  call("list_inbox", { ...INBOX, after_grant_id: tagGrantIdOf(20) }, {
    circumstances: "with 32 tags, a page in the middle",
    bounds: ONE_WALK,
  }),
  call("list_inbox", { ...INBOX, from_agent: "owner-11" }, {
    circumstances: "with 32 tags, of one sender",
    bounds: { rows: 500, pages: 1_000 },
  }),
  call("list_inbox", { ...INBOX, after: BEGINNING }, {
    circumstances: "with 32 tags that came since",
    bounds: ONE_WALK,
  }),
  call("list_grants", {
    caller: OPERATOR,
    agent_id: "owner-10",
    artifact_id: null,
    to_agent: null,
    to_tag: TAGS[0],
    max_entries: 100,
    cursor: null,
  }, { circumstances: "to a tag beside its grants that ended" }),
  call("find_changes", {
    waits: [
      { kind: "inbox", caller: as(TAGGED), agent_id: null, from_agent: null, after: END },
      { kind: "all", caller: as(TAGGED), agent_id: null, version: 1, inbox_after: END },
    ],
  }, { circumstances: "of an agent with 32 tags", bounds: { rows: 300, pages: 600 } }),
];

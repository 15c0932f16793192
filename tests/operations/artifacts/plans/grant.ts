import {
  artifactIdOf,
  endedGrantIdOf,
  GRANTEE,
  HOARDER,
  POPULAR,
  sha256,
  taggedArtifactIdOf,
  TAGS,
} from "../../../bench/fill/cast.ts";
import { as, call, OPERATOR, type PlannedCall } from "../../../database/plans/planned_call.ts";

const IN_A_DAY = new Date(Date.now() + 86_400_000).toISOString();

const DIGEST = sha256("any bytes");

/** An artifact with very many grants to the first tag, nearly all of which have ended. */
const OF_FIRST_TAG = taggedArtifactIdOf(32);

export const GRANT_PLANS: readonly PlannedCall[] = [
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
  }, { circumstances: "beside grants of the same that ended" }),
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: null,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
    max_downloads: 5,
  }, { circumstances: "for anyone with the token, with a limit" }),
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
    // Every 100th grant above the limit looks for surplus ones; with this limit, this grant does.
    max_ended_grants: 10_001,
  }, { circumstances: "that forgets others", bounds: { rows: 12_000, pages: 15_000 } }),
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
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
    note: "Build it.",
    reply_to: endedGrantIdOf(1),
    idempotency_key: "new",
  }, { circumstances: "with an idempotency key, as an answer" }),
];

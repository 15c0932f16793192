import {
  artifactIdOf,
  GRANTEE,
  HOARDER,
  POPULAR,
  TAGGED,
  taggedArtifactIdOf,
  VERSIONED,
  VERSIONED_KEY,
} from "../../../bench/fill/cast.ts";
import { as, call, type PlannedCall } from "../../../database/plans/planned_call.ts";

/** An artifact with very many grants to the first tag, nearly all of which have ended. */
const OF_FIRST_TAG = taggedArtifactIdOf(32);

export const OPEN_PLANS: readonly PlannedCall[] = [
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: artifactIdOf(500),
    window_seconds: 60,
  }, { circumstances: "as the grantee" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: artifactIdOf(POPULAR),
    window_seconds: 60,
  }, { circumstances: "beside grants of the same that ended", refused: true }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: null,
    window_seconds: 60,
    key: "files/00000001",
  }, { circumstances: "by key" }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: null,
    window_seconds: 60,
    key: "pl\u00e4n/00000107".normalize("NFD"),
  }, { circumstances: "by a key in another spelling" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: null,
    window_seconds: 60,
    key: "pl\u00e4n/00000107".normalize("NFD"),
    agent_id: HOARDER,
  }, { circumstances: "by a key in another spelling, without a grant", refused: true }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    window_seconds: 60,
  }, { circumstances: "as the owner" }),
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
  call("open_artifact", {
    caller: as(VERSIONED),
    artifact_id: null,
    window_seconds: 60,
    key: VERSIONED_KEY,
    version: 5,
  }, { circumstances: "by key and version" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: null,
    window_seconds: 60,
    key: VERSIONED_KEY,
    agent_id: VERSIONED,
  }, {
    circumstances: "by a key with very many versions, without a grant",
    refused: true,
    bounds: { rows: 8_000, pages: 8_000 },
  }),
];

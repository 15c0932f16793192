import assert from "node:assert/strict";
import {
  artifactIdOf,
  GRANTEE,
  HOARDER,
  liveGrantIdOf,
  OWNER,
  POPULAR,
  taggedArtifactIdOf,
  TAGS,
} from "../../bench/fill/cast.ts";
import { grant, inbox, open, publish, redeem } from "../../conformance/artifacts.ts";
import { assertError } from "../../conformance/client.ts";
import { as, call, OPERATOR } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

/** An artifact with very many grants to the first tag, nearly all of which have ended. */
const OF_FIRST_TAG = taggedArtifactIdOf(32);

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({ artifact_id, to_agent: other.id }),
  valid: ({ agent, reader, doomed, grant_id }) => [
    { as: agent, body: { artifact_id: doomed.artifact_id, to_agent: reader.id } },
    // Of the right form, but nearly never a grant.
    { as: agent, body: { grant_id: grant_id.replace(/.$/, "0") } },
  ],
  tool: { hides: ["to_tag", "expires_at", "max_downloads", "token"], effect: "replaces" },
  afterRestore: async ({ files, post, reader }) => {
    const { artifact_id } = await files.put("shared.txt", "shared", { to: ["reader"] });
    return {
      make: () => files.unshare("shared.txt", "reader"),
      told: `/revoke by planner: .*artifact_id ${artifact_id}`,
      isThere: async () =>
        (await post("/agent-artifacts/open", { artifact_id }, reader)).status === 404,
    };
  },
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const artifact = await publish(owner);
        const { artifact_id } = artifact;
        const { token } = await grant(owner, artifact, { to: reader });
        return {
          request: { as: owner, body: { artifact_id, to_agent: reader.id } },
          async holds() {
            assertError(await redeem(token), 410, "grant_revoked");
            assertError(await open(reader, artifact), 404, "artifact_not_found");
            assert.deepEqual(await inbox(reader), []);
          },
        };
      },
    },
  ],
  plans: [
    call("revoke_grants", {
      caller: as(HOARDER),
      artifact_id: artifactIdOf(POPULAR),
      to_agent: GRANTEE,
      grant_id: null,
    }, { circumstances: "beside grants of the same that ended" }),
    call("revoke_grants", {
      caller: as(OWNER),
      artifact_id: null,
      to_agent: null,
      grant_id: liveGrantIdOf(7),
    }, { circumstances: "of one grant" }),
    call("revoke_grants", {
      caller: OPERATOR,
      artifact_id: OF_FIRST_TAG,
      to_agent: null,
      to_tag: TAGS[0],
      grant_id: null,
    }, { circumstances: "to a tag, beside grants of the same that ended" }),
  ],
  lockWaits: [],
};

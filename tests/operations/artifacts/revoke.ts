import assert from "node:assert/strict";
import { grant, inbox, open, publish, redeem } from "../../conformance/artifacts.ts";
import { assertError } from "../../conformance/client.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

export const revoke: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({ artifact_id, to_agent: other.id }),
  valid: ({ agent, reader, doomed, grant_id }) => [
    { as: agent, body: { artifact_id: doomed.artifact_id, to_agent: reader.id } },
    // Of the right form, but nearly never a grant.
    { as: agent, body: { grant_id: grant_id.replace(/.$/, "0") } },
  ],
  tool: { hides: ["to_tag", "expires_at", "max_downloads", "token"], effect: "replaces" },
  afterRestore: "listed",
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
};

import { publish, secondsFromNow } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";
import { assertContent, castOfTwo } from "./arrangements.ts";
import { GRANT_PLANS } from "./plans/grant.ts";

export const grant: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({
    artifact_id,
    to_agent: other.id,
    expires_at: "2999-01-01T00:00:00Z",
  }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) } },
    { as: agent, body: { artifact_id, expires_at: secondsFromNow(600), max_downloads: 5 } },
  ],
  tool: { requiresOthers: true, effect: "adds" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const artifact = await publish(owner);
        const { artifact_id } = artifact;
        const body = { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) };
        return { request: { as: owner, body }, holds: () => assertContent(reader, artifact) };
      },
    },
  ],
  plans: GRANT_PLANS,
  lockWaits: [],
};

import { grant, publish } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";
import { arrangeOneDownload, castOfTwo } from "./arrangements.ts";
import { OPEN_PLANS } from "./plans/open.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: reader, body: { artifact_id, max_size: 5 } },
    { as: reader, body: { agent_id: agent.id, key: "committed", version: 1 } },
  ],
  tool: {
    name: "get",
    // Here `agent_id` names another agent, so the tool keeps it.
    hides: ["version"],
    requiresOthers: true,
    effect: "adds",
  },
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const { artifact_id } = await publish(owner);
        await grant(owner, { artifact_id }, { to: reader });
        return { request: { as: reader, body: { artifact_id } } };
      },
    },
    {
      situation: "of a grant for one download",
      settled: // If the answer was lost, the download has still been counted.
        ["200", "410 grant_used_up"],
      async arrange() {
        const { reader, artifact_id, holds } = await arrangeOneDownload();
        return { request: { as: reader, body: { artifact_id } }, holds };
      },
    },
  ],
  plans: OPEN_PLANS,
  lockWaits: [],
};

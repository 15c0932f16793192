import { grant, publish } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

export const grants: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { agent_id: agent.id, artifact_id, to_agent: reader.id, limit: 1 } },
  ],
  tool: {
    // A grant to a tag is revoked by its `grant_id`.
    hides: ["agent_id", "to_tag"],
    effect: "reads",
  },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        await grant(owner, await publish(owner), { to: reader });
        return { request: { as: owner, body: { agent_id: owner.id } } };
      },
    },
  ],
};

import assert from "node:assert/strict";
import { inbox } from "../../../conformance/artifacts.ts";
import { succeed } from "../../../conformance/client.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeNamedSender } from "../arrangements.ts";

export const inboxUnblock: ArtifactsCard = {
  document: "described",
  asks: ({ one, other }) => ({ agent_id: other.id, from_agent: one.id }),
  valid: ({ reader, stranger }) => [
    { as: reader, body: { agent_id: reader.id, from_agent: stranger.id } },
  ],
  tool: { effect: "sets" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { reader, request } = await arrangeNamedSender();
        await succeed("/agent-artifacts/inbox/block", request);
        return { request, holds: async () => assert.equal((await inbox(reader)).length, 1) };
      },
    },
  ],
};

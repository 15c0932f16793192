import assert from "node:assert/strict";
import { GRANTEE, HOARDER } from "../../../bench/fill/cast.ts";
import { inbox } from "../../../conformance/artifacts.ts";
import { succeed } from "../../../conformance/client.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeNamedSender } from "../arrangements.ts";

export const card: ArtifactsCard = {
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
  plans: [
    call("unblock_sender", { caller: as(GRANTEE), agent_id: null, from_agent: HOARDER }),
  ],
  lockWaits: [],
};

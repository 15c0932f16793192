import assert from "node:assert/strict";
import { GRANTEE, HOARDER } from "../../../bench/fill/cast.ts";
import { inbox } from "../../../conformance/artifacts.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { arrangeNamedSender } from "../arrangements.ts";

export const inboxBlock: ArtifactsCard = {
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
        return { request, holds: async () => assert.deepEqual(await inbox(reader), []) };
      },
    },
  ],
  plans: [
    call("block_sender", {
      caller: as(GRANTEE),
      agent_id: null,
      from_agent: HOARDER,
      max_blocked: 1000,
    }),
  ],
  lockWaits: [],
};

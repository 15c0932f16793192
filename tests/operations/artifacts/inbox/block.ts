import assert from "node:assert/strict";
import { GRANTEE, HOARDER } from "../../../bench/fill/cast.ts";
import { inbox } from "../../../conformance/artifacts.ts";
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
  afterRestore: async ({ files, ask, reader }) => {
    await files.put("hidden.txt", "hidden", { to: ["reader"] });
    return {
      make: () => ask("/agent-artifacts/inbox/block", { from_agent: "planner" }, reader),
      told: "/inbox/block by reader: .*from_agent planner",
      async isThere() {
        const { grants } = await ask("/agent-artifacts/inbox", {}, reader);
        return !grants.some(({ key }: { key: string }) => key === "hidden.txt");
      },
    };
  },
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

import assert from "node:assert/strict";
import { givenGrants, grant, inbox as inboxOf, publish } from "../../conformance/artifacts.ts";
import { createAgent } from "../../conformance/client.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";
import { INBOX_PLANS } from "./plans/inbox.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ reader }) => [
    { as: reader, body: { agent_id: reader.id, limit: 10 } },
  ],
  tool: { hides: ["agent_id", "states"], effect: "reads" },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const reader = await createAgent("reader");
        return { request: { as: reader, body: { agent_id: reader.id } } };
      },
    },
    {
      situation: "with a grant that it shows for the first time, which is noted",
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        await grant(owner, await publish(owner), { to: reader });
        const holds = async () => {
          assert.equal((await inboxOf(reader)).length, 1);
          const [given] = (await givenGrants(owner)).grants;
          assert.notEqual(given!.shown_at, null);
        };
        return { request: { as: reader, body: {} }, holds };
      },
    },
  ],
  plans: INBOX_PLANS,
  lockWaits: [],
};

import assert from "node:assert/strict";
import { createAgent } from "../../conformance/client.ts";
import { whoami } from "../../conformance/enrolment/enrolments.ts";
import { call, OPERATOR } from "../../database/plans/planned_call.ts";
import type { Card } from "../card.ts";
import { secondGeneration } from "./enrolment/arrangements.ts";

export const card: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async () => {
    const leaving = await createAgent("leaving");
    return [{ as: leaving, body: { agent_id: leaving.id } }];
  },
  isLast: true,
  tool: "none: for programs",
  afterRestore: "listed",
  faults: [
    {
      settled: // An agent that has left has no agent key to repeat the request with.
        ["200", "401 unauthenticated"],
      async arrange() {
        const { second } = await secondGeneration();
        assert.equal((await whoami(second)).status, 200);
        return {
          request: { as: second },
          holds: async () => assert.equal((await whoami(second)).status, 401),
        };
      },
    },
  ],
  plans: [
    call("leave", { caller: OPERATOR, agent_id: "enrolled-1" }),
  ],
  lockWaits: [],
};

import assert from "node:assert/strict";
import { FLEET } from "../../../bench/fill/cast.ts";
import {
  enrol,
  newName,
  put,
  revokeAll,
  whoami,
} from "../../../conformance/enrolment/enrolments.ts";
import { call, OPERATOR } from "../../../database/plans/planned_call.ts";
import type { Card } from "../../card.ts";

export const card: Card = {
  document: "left out: only the operator's tasks call it",
  asks: ({ enrolment_id }) => ({ enrolment_id }),
  valid: async () => {
    const { enrolment_id } = await put();
    return [{ as: "operator", body: { enrolment_id, undo_grants: false } }];
  },
  tool: "none: for the operator",
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { enrolment_key, enrolment_id } = await put({ uses_left: null });
        const agents = await Promise.all(
          ["a", "b"].map((name) => enrol({ enrolment_key, agent_name: newName(name) })),
        );
        return {
          request: { as: "operator", body: { enrolment_id } },
          async holds() {
            for (const agent of agents) assert.equal((await whoami(agent)).status, 401);
            assert.equal((await revokeAll(enrolment_id)).remaining, 0);
          },
        };
      },
    },
  ],
  plans: [
    call("revoke_enrolment", { caller: OPERATOR, enrolment_id: FLEET, max_agents: 200 }, {
      bounds: { rows: 20_000, pages: 20_000 },
    }),
    call("end_enrolled_agent", { caller: OPERATOR, enrolment_id: FLEET, agent_id: "enrolled-1" }),
  ],
  lockWaits: [],
};

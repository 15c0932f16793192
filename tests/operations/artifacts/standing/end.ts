import assert from "node:assert/strict";
import { OWNER, standingIdOf } from "../../../bench/fill/cast.ts";
import { inbox, publish } from "../../../conformance/artifacts.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { castOfTwo } from "../arrangements.ts";
import { createStanding, standingOf } from "./standing.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({ standing_id: `standing_${"0".repeat(32)}` }),
  valid: async ({ agent, reader }) => {
    const fields = { prefix: "ended/", to_agent: reader.id };
    const { standing_id } = await createStanding(agent, fields);
    return [{ as: agent, body: { standing_id, end_grants: true } }];
  },
  isLast: true,
  tool: "none: for programs",
  afterRestore: async ({ ask, planner }) => {
    const expires_at = new Date(Date.now() + 6_000_000).toISOString();
    const body = { prefix: "ended/", to_agent: "reader", expires_at };
    const { standing_id } = await ask("/agent-artifacts/standing/create", body, planner);
    return {
      make: () => ask("/agent-artifacts/standing/end", { standing_id }, planner),
      told: `/standing/end by planner: .*standing_id ${standing_id}`,
      async isThere() {
        const { standing_grants } = await ask("/agent-artifacts/standing/list", {}, planner);
        return !standing_grants.some((one: { standing_id: string }) =>
          one.standing_id === standing_id
        );
      },
    };
  },
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const { key } = await publish(owner);
        const fields = { key, to_agent: reader.id, existing: true };
        const { standing_id } = await createStanding(owner, fields);
        return {
          request: { as: owner, body: { standing_id } },
          async holds() {
            assert.deepEqual(await standingOf(owner), []);
            assert.deepEqual(await inbox(reader), []);
          },
        };
      },
    },
  ],
  plans: [
    call("end_standing_grant", { caller: as(OWNER), standing_id: standingIdOf(0) }),
  ],
  lockWaits: [],
};

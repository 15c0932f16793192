import assert from "node:assert/strict";
import { OWNER } from "../../../bench/fill/cast.ts";
import { publish, secondsFromNow } from "../../../conformance/artifacts.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";
import { castOfTwo } from "../arrangements.ts";
import { standingOf } from "./standing.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one, other }) => ({
    agent_id: one.id,
    prefix: "",
    to_agent: other.id,
    expires_at: secondsFromNow(600),
  }),
  valid: ({ agent, reader }) => [
    {
      as: agent,
      body: {
        agent_id: agent.id,
        prefix: "reports/",
        to_agent: reader.id,
        existing: true,
        expires_at: secondsFromNow(600),
        grant_days: 1,
      },
    },
    {
      as: agent,
      body: {
        agent_id: agent.id,
        key: "a/b.txt",
        to_tag: "tag:builder",
        expires_at: secondsFromNow(600),
        note: "Build this plan, please.",
        deliver: "one",
      },
    },
  ],
  tool: "none: for programs",
  afterRestore: ({ ask, planner }) =>
    Promise.resolve({
      make: () =>
        ask("/agent-artifacts/standing/create", {
          prefix: "lost/",
          to_agent: "reader",
          expires_at: secondsFromNow(6_000),
        }, planner),
      told: "/standing/create by planner",
      async isThere() {
        const { standing_grants } = await ask("/agent-artifacts/standing/list", {}, planner);
        return standing_grants.some(({ prefix }: { prefix: string }) => prefix === "lost/");
      },
    }),
  faults: [
    {
      // A lost answer leaves a standing grant: each call makes one.
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const { key } = await publish(owner);
        const expires_at = secondsFromNow(600);
        const body = { key, to_agent: reader.id, expires_at, existing: true };
        return {
          request: { as: owner, body },
          holds: async () => assert.ok((await standingOf(owner)).length >= 1),
        };
      },
    },
  ],
  plans: [
    call("create_standing_grant", {
      caller: as(OWNER),
      standing_id: `standing_${"0".repeat(32)}`,
      agent_id: null,
      name: "files/",
      is_prefix: true,
      to_agent: "someone",
      to_tag: null,
      expires_at: "2999-01-01T00:00:00Z",
      grant_days: null,
      existing: true,
    }, { bounds: { rows: 400, pages: 2_000 } }),
  ],
  lockWaits: [],
};

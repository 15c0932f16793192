import { GRANTEE, HOARDER, TAGGED } from "../../bench/fill/cast.ts";
import { grant, publish } from "../../conformance/artifacts.ts";
import { as, call } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

const PAGE = { agent_id: null, max_entries: 100 };

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id, limit: 1, cursor: "#tag:builder" } },
  ],
  tool: "none: for programs",
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
  plans: [
    call("list_recipients", { caller: as(HOARDER), ...PAGE }, {
      circumstances: "of an agent with very many grants to one agent",
    }),
    call("list_recipients", { caller: as(GRANTEE), ...PAGE }, {
      circumstances: "of an agent with very many grants that ended",
    }),
    call("list_recipients", { caller: as(TAGGED), ...PAGE }, {
      circumstances: "of an agent with very many grants to its tags",
      // Each of up to 101 names is looked up under 32 tags, twice.
      bounds: { rows: 7_000, pages: 25_000 },
    }),
  ],
  lockWaits: [],
};

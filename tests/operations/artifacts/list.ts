import { HOARDER, RENAMER } from "../../bench/fill/cast.ts";
import { createAgent } from "../../conformance/client.ts";
import { as, call } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";

/** A name in the alphabet of cursors: the page after it. */
const CURSOR = btoa("committed").replaceAll("=", "");

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id, prefix: "", limit: 1, cursor: CURSOR } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const owner = await createAgent("owner");
        return { request: { as: owner, body: { agent_id: owner.id } } };
      },
    },
  ],
  plans: [
    call("list_artifacts", {
      caller: as(HOARDER),
      agent_id: HOARDER,
      prefix: "files/",
      max_entries: 100,
      after_key: "files/00050000",
    }, { circumstances: "a page of 100 in the middle", bounds: { rows: 2_500, pages: 3_000 } }),
    call("list_artifacts", {
      caller: as(RENAMER),
      agent_id: RENAMER,
      prefix: "",
      max_entries: 100,
      after_key: null,
    }, { circumstances: "behind keys that ended" }),
  ],
  lockWaits: [],
};

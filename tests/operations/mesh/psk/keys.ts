import { HOARDER } from "../../../bench/fill/cast.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";

export const card: MeshCard = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: {} },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { as: "operator" } }),
    },
  ],
  plans: [
    call("check_operator", { caller: as(HOARDER) }, { refused: true }),
  ],
  lockWaits: [],
};

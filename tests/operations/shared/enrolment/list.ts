import { call, OPERATOR } from "../../../database/plans/planned_call.ts";
import type { Card } from "../../card.ts";

export const card: Card = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: { limit: 1 } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { as: "operator", body: { limit: 1 } } }),
    },
  ],
  plans: [
    call("list_enrolments", { caller: OPERATOR, max_entries: 100 }),
  ],
  lockWaits: [],
};

import type { Card } from "../../card.ts";

export const enrolmentList: Card = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: { limit: 1 } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
};

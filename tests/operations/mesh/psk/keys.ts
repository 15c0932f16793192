import type { MeshCard } from "../../card.ts";

export const pskKeys: MeshCard = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: {} },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
};

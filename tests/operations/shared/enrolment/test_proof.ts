import type { Card } from "../../card.ts";

export const enrolmentTest: Card = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({ issuer: "https://example.com", claims: {} }),
  valid: () => [
    { as: "operator", body: { issuer: "https://issuer.example.com", claims: { sub: "a" } } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
};

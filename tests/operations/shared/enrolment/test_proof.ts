import type { Card } from "../../card.ts";
import { AUDIENCE, putTrust } from "./arrangements.ts";

export const card: Card = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({ issuer: "https://example.com", claims: {} }),
  valid: () => [
    { as: "operator", body: { issuer: "https://issuer.example.com", claims: { sub: "a" } } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const { issuer } = await putTrust();
        const token = await issuer.sign({ aud: AUDIENCE, sub: "run" });
        return { request: { as: "operator", body: { token } } };
      },
    },
  ],
  // It calls what /enroll calls.
  plans: [],
  lockWaits: [],
};

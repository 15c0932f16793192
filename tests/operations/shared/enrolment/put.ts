import type { JsonObject } from "../../../conformance/client.ts";
import type { Card } from "../../card.ts";

/** A trust in an issuer that signs nothing. The public key is from RFC 8037, A.2. */
const ISSUER: JsonObject = {
  issuer: "https://mutated.example.com",
  audience: "https://agents.example.com",
  jwks: {
    keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
  },
  conditions: [{ claim: "sub", equals: "a" }, { claim: "ref", prefix: "refs/" }],
  agent_template: "{sub}",
};

export const enrolmentPut: Card = {
  document: "left out: only the operator's tasks call it",
  asks: ({ one }) => ({ kind: "key", agent_id: one.id }),
  valid: () => [
    { as: "operator", body: { kind: "key", label: "mutated", uses_left: 1, session_seconds: 60 } },
    { as: "operator", body: { kind: "trust", label: "mutated", ...ISSUER } },
  ],
  tool: "none: for the operator",
  afterRestore: "listed",
};

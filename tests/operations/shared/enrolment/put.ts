import assert from "node:assert/strict";
import type { JsonObject } from "../../../conformance/client.ts";
import { newName, revokeAll } from "../../../conformance/enrolment/enrolments.ts";
import { call, OPERATOR } from "../../../database/plans/planned_call.ts";
import type { Card } from "../../card.ts";
import { listedEnrolments } from "./arrangements.ts";

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

export const card: Card = {
  document: "left out: only the operator's tasks call it",
  asks: ({ one }) => ({ kind: "key", agent_id: one.id }),
  valid: () => [
    { as: "operator", body: { kind: "key", label: "mutated", uses_left: 1, session_seconds: 60 } },
    { as: "operator", body: { kind: "trust", label: "mutated", ...ISSUER } },
  ],
  tool: "none: for the operator",
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      arrange() {
        const label = newName("label");
        return Promise.resolve({
          request: { as: "operator", body: { kind: "key", label } },
          async holds() {
            const made = (await listedEnrolments()).filter((one) => one["label"] === label);
            assert.ok(made.length > 0);
            for (const { enrolment_id } of made) await revokeAll(enrolment_id);
          },
        });
      },
    },
  ],
  plans: [
    call("put_enrolment", {
      caller: OPERATOR,
      enrolment: { kind: "key", uses_left: 1, session_seconds: 60 },
    }),
  ],
  lockWaits: [],
};

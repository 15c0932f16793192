import { newName, put } from "../../conformance/enrolment/enrolments.ts";
import type { Card } from "../card.ts";
import { assertOneLiveKey, AUDIENCE, putTrust } from "./enrolment/arrangements.ts";
import { ENROLL_PLANS } from "./plans/enroll.ts";

export const card: Card = {
  document: "described",
  asks: "has its credential in the body",
  valid: async () => {
    const { enrolment_key } = await put();
    return [{ as: "nobody", body: { enrolment_key, agent_name: newName("enrolled") } }];
  },
  tool: "none: for programs",
  afterRestore: "listed",
  faults: [
    {
      situation: "by an enrolment key of one use",
      settled: ["200"],
      async arrange() {
        const { enrolment_key } = await put();
        const agent_name = newName("vm");
        return {
          request: { as: "nobody", body: { enrolment_key, agent_name } },
          holds: () => assertOneLiveKey(agent_name),
        };
      },
    },
    {
      situation: "by a single-use token",
      settled: ["200"],
      async arrange() {
        const { issuer } = await putTrust();
        const sub = newName("run");
        const token = await issuer.sign({ aud: AUDIENCE, sub });
        return { request: { as: "nobody", body: { token } }, holds: () => assertOneLiveKey(sub) };
      },
    },
    {
      situation: "by a token that no condition takes",
      settled: ["401 enrolment_refused"],
      async arrange() {
        const { issuer } = await putTrust();
        const token = await issuer.sign({ aud: AUDIENCE, sub: "other" });
        return { request: { as: "nobody", body: { token } } };
      },
    },
  ],
  plans: ENROLL_PLANS,
  lockWaits: [],
};

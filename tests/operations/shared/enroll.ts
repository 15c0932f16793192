import { newName, put } from "../../conformance/enrolment/enrolments.ts";
import type { Card } from "../card.ts";

export const enroll: Card = {
  document: "described",
  asks: "has its credential in the body",
  valid: async () => {
    const { enrolment_key } = await put();
    return [{ as: "nobody", body: { enrolment_key, agent_name: newName("enrolled") } }];
  },
  tool: "none: for programs",
  afterRestore: "listed",
};

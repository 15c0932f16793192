import { put } from "../../../conformance/enrolment/enrolments.ts";
import type { Card } from "../../card.ts";

export const enrolmentRevoke: Card = {
  document: "left out: only the operator's tasks call it",
  asks: ({ enrolment_id }) => ({ enrolment_id }),
  valid: async () => {
    const { enrolment_id } = await put();
    return [{ as: "operator", body: { enrolment_id, undo_grants: false } }];
  },
  tool: "none: for the operator",
  afterRestore: "listed",
};

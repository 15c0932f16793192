import { call, OPERATOR } from "../../../database/plans/planned_call.ts";
import { HOOK, HOOK_ARRANGED } from "../../../bench/fill/cast.ts";
import type { ArtifactsCard } from "../../card.ts";

const TAKE = { caller: OPERATOR, max_per_webhook: 8, lease_seconds: 60 };

export const card: ArtifactsCard = {
  document: "left out: only the operator's tasks call it",
  asks: () => ({}),
  valid: () => [{ as: "operator", body: {} }],
  tool: "none: for the operator",
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    { settled: ["200"], arrange: () => Promise.resolve({ request: { as: "operator" } }) },
  ],
  plans: [
    call("take_deliveries", { ...TAKE, outcomes: [], max_entries: 256 }, {
      arranged: HOOK_ARRANGED,
      bounds: { rows: 300, pages: 1_000 },
    }),
    call("take_deliveries", {
      ...TAKE,
      outcomes: [{ webhook_id: HOOK, event_id: 2, attempt: 1, status: 500, error: null }],
      max_entries: 0,
    }, { circumstances: "which only records", arranged: HOOK_ARRANGED }),
  ],
  lockWaits: [],
};

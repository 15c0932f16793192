import { HOOK_ARRANGED, HOOK_OF_ALL_ARRANGED } from "../../../bench/fill/cast.ts";
import { call, OPERATOR, type PlannedCall } from "../../../database/plans/planned_call.ts";

export const SWEEP_PLANS: readonly PlannedCall[] = [
  call("end_artifacts", { caller: OPERATOR, max_entries: 1000, window_seconds: 60 }, {
    bounds: { rows: 3_000, pages: 6_000 },
  }),
  call("record_surplus_uploads", { caller: OPERATOR }, {
    bounds: { rows: 5_000, pages: 20_000 },
  }),
  call(
    "collect_dead_objects",
    { caller: OPERATOR, max_entries: 1000, remove_many_orphans: false },
    {
      bounds: { rows: 3_000, pages: 8_000 },
    },
  ),
  call("forget_ended", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 6_000, pages: 10_000 },
  }),
  // It forgets 200 names, and looks for each in some 25 indexes.
  call("forget_enrolled", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 20_000, pages: 60_000 },
  }),
  call("end_idle_agent", { caller: OPERATOR, agent_id: "enrolled-1" }),
  call("settle_changes", { caller: OPERATOR, max_entries: 1000 }, {
    // Three rows for each entry, the epoch's row once per transaction, and for each event a look at
    // the webhooks, of which there are none.
    bounds: { rows: 3501, pages: 20_000 },
  }),
  call("settle_changes", { caller: OPERATOR, max_entries: 1000 }, {
    circumstances: "beside a webhook of another agent",
    arranged: HOOK_ARRANGED,
    // For each event also three looks: for webhooks of all agents, of its agents and of their tags.
    bounds: { rows: 5001, pages: 30_000 },
  }),
  call("settle_changes", { caller: OPERATOR, max_entries: 1000 }, {
    circumstances: "that a webhook is told of",
    arranged: HOOK_OF_ALL_ARRANGED,
    // For each event also its delivery, and a look at the time of the last kick.
    bounds: { rows: 7_500, pages: 40_000 },
  }),
  call("settle_tasks", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 20_000, pages: 60_000 },
  }),
  call("settle_reads", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 6_000, pages: 40_000 },
  }),
  call("forget_events", { caller: OPERATOR, retention_days: 30, max_entries: 1000 }, {
    bounds: { rows: 10_000, pages: 30_000 },
  }),
  call("forget_usage", { caller: OPERATOR, retention_days: 30, max_entries: 1000 }, {
    bounds: { rows: 10_000, pages: 20_000 },
  }),
  call("forget_deliveries", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 6_000, pages: 20_000 },
  }),
  call("forget_paths", { caller: OPERATOR, max_entries: 1000 }, {
    bounds: { rows: 10_000, pages: 20_000 },
  }),
];

import type { Invariant } from "../registry.ts";

const COLUMNS = [
  "pending",
  "committed",
  "superseded",
  "pending_bytes",
  "committed_bytes",
  "superseded_bytes",
  "grants",
  "surplus_bytes",
];

export const TOTALS: readonly Invariant[] = [
  {
    name: "an agent's totals are the sum of its rows",
    sql: `select t.agent_id || ' has ' || artifacts.kept_share(t) || ', not '
          || artifacts.count_totals(t.agent_id) as broken
      from artifacts.totals t
      where artifacts.kept_share(t) is distinct from artifacts.count_totals(t.agent_id)`,
  },
  {
    name: "the project's totals are the sum of its agents'",
    sql: `select 'the project has ' || p || ', not ' || t as broken
      from (select ${sums()} from artifacts.project_totals) p,
        (select ${sums()} from artifacts.totals) t
      where p is distinct from t`,
  },
];

function sums(): string {
  return COLUMNS.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(", ");
}

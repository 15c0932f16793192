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
      left join (
        select a.agent_id,
          count(*) filter (where a.is_live and a.state = 'pending') as pending,
          count(*) filter (where a.is_live and a.state = 'committed') as committed,
          count(*) filter (where a.is_live and a.state = 'superseded') as superseded,
          sum(a.size_bytes) filter (where a.is_live and a.state = 'pending') as pending_bytes,
          sum(a.size_bytes) filter (where a.is_live and a.state = 'committed') as committed_bytes,
          sum(a.size_bytes) filter (where a.is_live and a.state = 'superseded')
            as superseded_bytes,
          sum(a.surplus_bytes) as surplus_bytes
        from (select *, ended_at is null as is_live from artifacts.artifacts) a
        group by a.agent_id
      ) a on a.agent_id = t.agent_id
      left join (
        select from_agent, count(*) as grants from artifacts.grants group by from_agent
      ) g on g.from_agent = t.agent_id
      where (t.pending, t.committed, t.superseded, t.pending_bytes, t.committed_bytes,
          t.superseded_bytes, t.grants, t.surplus_bytes)
        is distinct from (coalesce(a.pending, 0), coalesce(a.committed, 0),
          coalesce(a.superseded, 0), coalesce(a.pending_bytes, 0),
          coalesce(a.committed_bytes, 0), coalesce(a.superseded_bytes, 0),
          coalesce(g.grants, 0), coalesce(a.surplus_bytes, 0))`,
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

-- What each agent holds, updated with every change. Limits, metrics and the operator's commands
-- read it, so none of them has to count.

create table artifacts.totals (
  agent_id agents.agent_id primary key,
  pending bigint not null default 0,
  committed bigint not null default 0,
  superseded bigint not null default 0,
  pending_bytes bigint not null default 0,
  committed_bytes bigint not null default 0,
  superseded_bytes bigint not null default 0,
  grants bigint not null default 0,
  surplus_bytes bigint not null default 0,
  enrolment_id text collate "C"
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change.
with (fillfactor = 50);
comment on table artifacts.totals is
  'One row per agent that ever registered an artifact: how many it holds in each state, and their '
  'registered bytes, until they are deleted or the sweep ends them; how many of its grants have a '
  'row, including those that ended in the last 30 days; and what it has uploaded beyond the '
  'registered size.';
comment on column artifacts.totals.enrolment_id is
  'For which enrolment the bytes count; empty: none; null until the transaction that adds the row '
  'has looked (count_for_enrolment).';

-- A separate type, because code that builds a row of artifacts.totals itself, by a cast or as a
-- function's result, fails as soon as the table gets another column.
create type artifacts.share as (
  agent_id agents.agent_id,
  pending bigint,
  committed bigint,
  superseded bigint,
  pending_bytes bigint,
  committed_bytes bigint,
  superseded_bytes bigint,
  grants bigint,
  surplus_bytes bigint
);
comment on type artifacts.share is
  'What some rows of an agent add to artifacts.totals; negative: what they take away.';

create function artifacts.count_totals(agent_id text) returns artifacts.share
language sql
stable
set search_path = ''
as $$
  select count_totals.agent_id,
    count(*) filter (where a.state = 'pending'),
    count(*) filter (where a.state = 'committed'),
    count(*) filter (where a.state = 'superseded'),
    coalesce(sum(a.size_bytes) filter (where a.state = 'pending'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'committed'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'superseded'), 0)::bigint,
    (select count(*) from artifacts.grants g where g.from_agent = count_totals.agent_id),
    (
      select coalesce(sum(s.surplus_bytes), 0)::bigint
      from artifacts.artifacts s
      where s.agent_id = count_totals.agent_id and s.surplus_bytes is not null
    )
  from artifacts.artifacts a
  where a.agent_id = count_totals.agent_id and a.state <> 'deleted' and a.ended_at is null
$$;
comment on function artifacts.count_totals(text) is
  'What an agent''s totals should be. It reads all of its rows: for fsck and for tests.';

create function artifacts.kept_share(totals artifacts.totals) returns artifacts.share
language sql
immutable
return case
  when totals.agent_id is not null then row(
    totals.agent_id, totals.pending, totals.committed, totals.superseded, totals.pending_bytes,
    totals.committed_bytes, totals.superseded_bytes, totals.grants, totals.surplus_bytes
  )::artifacts.share
end;
comment on function artifacts.kept_share(artifacts.totals) is
  'An agent''s stored totals, to compare with the sum of its rows.';

create table artifacts.project_totals (
  shard integer primary key,
  pending bigint not null,
  committed bigint not null,
  superseded bigint not null,
  pending_bytes bigint not null,
  committed_bytes bigint not null,
  superseded_bytes bigint not null,
  grants bigint not null,
  surplus_bytes bigint not null
)
with (fillfactor = 10);
comment on table artifacts.project_totals is
  'The sum of artifacts.totals, in shards: only the sum of all rows is what the project holds. '
  'Each connection adds to a separate row, so that agents do not wait for each other.';

create function artifacts.shard() returns integer
language sql
volatile
return case
  -- A transaction under lock_sweep changes one agent's totals after another, and keeps its row here
  -- locked meanwhile. So it uses a separate row: no other transaction that holds totals may wait
  -- for that row.
  when current_setting('artifacts.has_turn', true) = 'yes' then -1
  else pg_backend_pid() % 256
end;
comment on function artifacts.shard() is 'The row of project_totals that this transaction adds to.';

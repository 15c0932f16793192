-- Triggers that update the totals of agents, enrolments and the project with every change.

create function artifacts.add_shares(one artifacts.share, other artifacts.share) returns artifacts.share
language sql
immutable
-- Inlined.
return row(
  one.agent_id,
  one.pending + other.pending,
  one.committed + other.committed,
  one.superseded + other.superseded,
  one.pending_bytes + other.pending_bytes,
  one.committed_bytes + other.committed_bytes,
  one.superseded_bytes + other.superseded_bytes,
  one.grants + other.grants,
  one.surplus_bytes + other.surplus_bytes
)::artifacts.share;
comment on function artifacts.add_shares(artifacts.share, artifacts.share) is
  'The sum of two shares of one agent.';

create function artifacts.sum_shares(shares artifacts.share[]) returns artifacts.share[]
language plpgsql
immutable
set search_path = ''
-- Not an SQL function, because PostgreSQL would plan its query again in every transaction.
as $$
begin
  return array(
    select
      row(
        s.agent_id, sum(s.pending), sum(s.committed), sum(s.superseded), sum(s.pending_bytes),
        sum(s.committed_bytes), sum(s.superseded_bytes), sum(s.grants), sum(s.surplus_bytes)
      )::artifacts.share
    from unnest(sum_shares.shares) s
    group by s.agent_id
    order by s.agent_id
  );
end
$$;
comment on function artifacts.sum_shares(artifacts.share[]) is
  'One share per agent, in the order of agent_id. Shares without an agent are summed, too.';

create function artifacts.add_to_totals(changes artifacts.share[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  net artifacts.share[] := changes;
  changed record;
begin
  -- Most changes are of one row, and aggregates cost more than the rest of this function. Not one
  -- `case`, because PostgreSQL would prepare all of it in every transaction.
  if cardinality(changes) = 2 and (changes[1]).agent_id = (changes[2]).agent_id then
    -- An update of one row.
    net := array[artifacts.add_shares(changes[1], changes[2])];
  elsif cardinality(changes) > 1 then
    -- The same order in every transaction that changes the totals of several agents prevents
    -- deadlocks.
    net := artifacts.sum_shares(changes);
  end if;
  for changed in
    insert into artifacts.totals as t (
      agent_id, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes,
      grants, surplus_bytes
    )
    select n.*
    from unnest(net) n
    where (
      n.pending, n.committed, n.superseded, n.pending_bytes, n.committed_bytes, n.superseded_bytes,
      n.grants, n.surplus_bytes
    ) <> (0, 0, 0, 0, 0, 0, 0, 0)
    on conflict on constraint totals_pkey do update
    set pending = t.pending + excluded.pending,
        committed = t.committed + excluded.committed,
        superseded = t.superseded + excluded.superseded,
        pending_bytes = t.pending_bytes + excluded.pending_bytes,
        committed_bytes = t.committed_bytes + excluded.committed_bytes,
        superseded_bytes = t.superseded_bytes + excluded.superseded_bytes,
        grants = t.grants + excluded.grants,
        surplus_bytes = t.surplus_bytes + excluded.surplus_bytes
    returning t.agent_id, t.enrolment_id
  loop
    if changed.enrolment_id is null then
      perform artifacts.count_for_enrolment(changed.agent_id);
    elsif changed.enrolment_id <> '' then
      perform artifacts.add_to_enrolment_totals(changed.enrolment_id, (
        select n.pending_bytes + n.committed_bytes + n.superseded_bytes + n.surplus_bytes
        from unnest(net) n
        where n.agent_id = changed.agent_id
      ));
    end if;
  end loop;
  if not found then
    return;
  end if;

  if cardinality(net) > 1 then
    net := artifacts.sum_shares(array(
      select row(null, n.pending, n.committed, n.superseded, n.pending_bytes, n.committed_bytes,
        n.superseded_bytes, n.grants, n.surplus_bytes)::artifacts.share
      from unnest(net) n
    ));
  end if;
  insert into artifacts.project_totals as p (
    shard, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes, grants,
    surplus_bytes
  )
  select artifacts.shard(), n.pending, n.committed, n.superseded, n.pending_bytes,
    n.committed_bytes, n.superseded_bytes, n.grants, n.surplus_bytes
  from unnest(net) n
  on conflict on constraint project_totals_pkey do update
  set pending = p.pending + excluded.pending,
      committed = p.committed + excluded.committed,
      superseded = p.superseded + excluded.superseded,
      pending_bytes = p.pending_bytes + excluded.pending_bytes,
      committed_bytes = p.committed_bytes + excluded.committed_bytes,
      superseded_bytes = p.superseded_bytes + excluded.superseded_bytes,
      grants = p.grants + excluded.grants,
      surplus_bytes = p.surplus_bytes + excluded.surplus_bytes;
end
$$;
comment on function artifacts.add_to_totals(artifacts.share[]) is
  'Adds these numbers, which may be negative, to the totals of their agents, of the enrolments by '
  'which these came, and of the project.';

create function artifacts.share_in_totals(artifact artifacts.artifacts, sign integer)
returns artifacts.share
language sql
immutable
return row(
  artifact.agent_id,
  case when artifact.ended_at is null and artifact.state = 'pending' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'pending'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded'
    then sign * artifact.size_bytes else 0 end,
  0,
  sign * coalesce(artifact.surplus_bytes, 0)
)::artifacts.share;
comment on function artifacts.share_in_totals(artifacts.artifacts, integer) is
  'What one artifact adds to its agent''s totals (sign 1), or takes away (sign -1).';

create function artifacts.keep_totals_of_artifacts() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  changes artifacts.share[] := array[]::artifacts.share[];
begin
  -- An insert has no old rows, and a delete no new rows: these transition tables do not exist.
  if tg_op <> 'INSERT' then
    changes := changes || array(select artifacts.share_in_totals(o, -1) from old_rows o);
  end if;
  if tg_op <> 'DELETE' then
    changes := changes || array(select artifacts.share_in_totals(n, 1) from new_rows n);
  end if;
  perform artifacts.add_to_totals(changes);
  return null;
end
$$;
comment on function artifacts.keep_totals_of_artifacts() is
  'Updates artifacts.totals when artifacts change.';

create trigger inserted_artifacts_count after insert on artifacts.artifacts
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger updated_artifacts_count after update on artifacts.artifacts
  referencing old table as old_rows new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger deleted_artifacts_count after delete on artifacts.artifacts
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();

create function artifacts.keep_totals_of_grants() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    perform artifacts.add_to_totals(
      array(select row(n.from_agent, 0, 0, 0, 0, 0, 0, 1, 0)::artifacts.share from new_rows n)
    );
  else
    perform artifacts.add_to_totals(
      array(select row(o.from_agent, 0, 0, 0, 0, 0, 0, -1, 0)::artifacts.share from old_rows o)
    );
  end if;
  return null;
end
$$;
comment on function artifacts.keep_totals_of_grants() is
  'Updates artifacts.totals when grants are added or deleted.';

create trigger inserted_grants_count after insert on artifacts.grants
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_grants();
create trigger deleted_grants_count after delete on artifacts.grants
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_grants();

-- An agent ends: its tasks, and what it said.

create function artifacts.give_back_takes(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  given_back integer;
begin
  update artifacts.tasks t
  set
    -- After its last attempt a task lapses instead, and whoever finds it parks it, with its event.
    state = case when t.attempt < t.max_attempts then 'waiting' else t.state end,
    take_id = case when t.attempt >= t.max_attempts then t.take_id end,
    ready_at = instant,
    waits_again_since = case when t.attempt < t.max_attempts then agents.present_transaction() end
  -- Found by ctid, which cannot change while the row is locked. Otherwise the planner, which does
  -- not know the number of rows, may read the whole table.
  where t.ctid = any (array(
    select h.ctid
    from artifacts.tasks h
    where h.taken_by = give_back_takes.agent_id and h.state = 'taken' and h.ready_at > instant
    order by h.taken_by, h.state, h.grant_id
    limit give_back_takes.max_entries
    for update
  ));
  get diagnostics given_back = row_count;
  return given_back;
end
$$;
comment on function artifacts.give_back_takes(text, integer) is
  'Lets other agents have at once what an agent has taken, up to max_entries tasks; the attempts '
  'count. Returns how many. Call it under end_access.';

create function artifacts.release_tasks(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
as $$
declare
  released integer;
  most integer := artifacts.give_back_takes(release_tasks.agent_id, release_tasks.max_entries);
begin
  -- Its tasks of its tags. Those of grants to itself end with these grants.
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select o.ctid
    from artifacts.tasks o
    where o.agent_id = release_tasks.agent_id and o.to_tag is not null
    order by o.agent_id, o.grant_id
    limit release_tasks.max_entries
    for update
  ));
  get diagnostics released = row_count;
  most := greatest(most, released);
  delete from artifacts.inbox_views v
  where v.grantee = release_tasks.agent_id and v.seen_through = any (array(
    select o.seen_through
    from artifacts.inbox_views o
    where o.grantee = release_tasks.agent_id
    order by o.grantee, o.seen_through
    limit release_tasks.max_entries
  ));
  get diagnostics released = row_count;
  -- One row per tag that the agent ever had.
  delete from artifacts.task_queues q where q.agent_id = release_tasks.agent_id;
  return greatest(most, released);
end
$$;
comment on function artifacts.release_tasks(text, integer) is
  'Ends an agent as a worker: its takes are given back, and its own tasks of its tags are deleted, '
  'up to max_entries of each kind. Returns the largest number of one kind: repeat it while that is '
  'max_entries. Call it under end_access.';

create function artifacts.erase_tasks(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
as $$
declare
  erased integer;
  most integer;
begin
  -- As a rule, the agent's grants have taken its own words along.
  delete from artifacts.hand_overs h
  where h.grant_id = any (array(
    select s.grant_id
    from artifacts.hand_overs s
    where s.from_agent = name
    order by s.from_agent, s.idempotency_key, s.handed_over_at
    limit max_entries
  ));
  get diagnostics most = row_count;
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select e.ctid
    from artifacts.tasks e
    where e.agent_id = name and e.to_tag is not null
    order by e.agent_id, e.grant_id
    limit max_entries
    for update
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  delete from artifacts.inbox_views v
  where v.grantee = name and v.seen_through = any (array(
    select o.seen_through
    from artifacts.inbox_views o
    where o.grantee = name
    order by o.grantee, o.seen_through
    limit max_entries
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  -- The taker's words go with its name. What became of the task stays.
  update artifacts.tasks t
  set taken_by = pseudonym, reason = null
  where t.ctid = any (array(
    select e.ctid
    from artifacts.tasks e
    where e.taken_by = name
    order by e.taken_by, e.state, e.grant_id
    limit max_entries
    for update
  ));
  get diagnostics erased = row_count;
  return greatest(most, erased);
end
$$;
comment on function artifacts.erase_tasks(text, text, integer) is
  'Erases up to max_entries rows of each kind that name an agent in tasks, and what it said about '
  'grants; returns the largest number of one kind.';

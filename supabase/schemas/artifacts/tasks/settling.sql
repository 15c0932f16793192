-- What the sweep does about tasks: takes lapse without a clock, and most are found by the next look
-- of /inbox/take. For a queue that nobody looks at, the sweep is that look.

create function artifacts.is_over(given artifacts.grants) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (is_over.given).live_until <= clock_timestamp() or not exists (
    select
    from artifacts.artifacts a
    where a.artifact_id = (is_over.given).artifact_id
      and a.state in ('committed', 'superseded')
      and a.ended_at is null
      and a.expires_at > clock_timestamp()
  );
end
$$;
comment on function artifacts.is_over(artifacts.grants) is
  'Whether a grant, or its artifact, has ended, and its task with it.';

create function public.agent_api_settle_tasks(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  -- As many as artifacts.count_parked counts.
  most_parked constant integer := 1000;
  lapsed artifacts.tasks;
  given artifacts.grants;
  waiting integer := 0;
  parked integer := 0;
begin
  perform agents.authenticate_operator(agent_api_settle_tasks.caller);
  for lapsed in
    select t.*
    from artifacts.tasks t
    where t.state = 'taken' and t.ready_at <= instant
    order by t.ready_at
    limit agent_api_settle_tasks.max_entries
    -- Its taker may be extending it, and another agent may be taking it.
    for update skip locked
  loop
    select g.* into given from artifacts.grants g where g.grant_id = lapsed.grant_id;
    if artifacts.is_over(given) then
      delete from artifacts.tasks t where t.grant_id = lapsed.grant_id and t.queue = lapsed.queue;
    elsif lapsed.attempt >= lapsed.max_attempts then
      perform artifacts.settle_lapse(agent_api_settle_tasks.caller, null, lapsed, given);
      parked := parked + 1;
    else
      -- ready_at stays: it is the task's place among those that wait.
      update artifacts.tasks t
      set state = 'waiting', take_id = null, waits_again_since = agents.present_transaction()
      where t.grant_id = lapsed.grant_id and t.queue = lapsed.queue;
      waiting := waiting + 1;
    end if;
  end loop;
  -- So that those whose grants have ended never hide the others.
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select p.ctid
    from (
      select k.ctid, k.grant_id
      from artifacts.tasks k
      where k.state = 'parked'
      order by k.grant_id, k.queue
      limit most_parked
      -- Its giver may be requeueing it.
      for update skip locked
    ) p
    cross join lateral (
      select g as given from artifacts.grants g where g.grant_id = p.grant_id limit 1
    ) g
    where artifacts.is_over(g.given)
  ));
  -- No grant is that old: its file has ended.
  delete from artifacts.inbox_views v
  where v.ctid = any (array(
    select o.ctid
    from artifacts.inbox_views o
    where o.shown_at < instant - interval '400 days'
    order by o.shown_at
    limit agent_api_settle_tasks.max_entries
    for update skip locked
  ));
  return json_build_object(
    'waiting', waiting,
    'parked', parked,
    'remaining', (
      select count(*)
      from (
        select from artifacts.tasks t
        where t.state = 'taken' and t.ready_at <= instant
        order by t.ready_at
        limit 1000
      ) l
    )
  );
end
$$;
comment on function public.agent_api_settle_tasks(jsonb, integer) is
  'Settles takes that lapsed, up to max_entries: their tasks wait again, so that /inbox and /wait '
  'tell of them, or are parked after their last attempts. Deletes parked tasks whose grants have '
  'ended. Returns {waiting, parked, remaining}; remaining counts at most 1000. Raises forbidden for '
  'an agent.';

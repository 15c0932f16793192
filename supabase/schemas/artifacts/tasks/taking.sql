-- Taking tasks: each is held by one agent at a time, under the name of its take.

create function artifacts.next_queue(queues text[], instant timestamptz) returns text
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return (
    select q.queue
    from unnest(next_queue.queues) as q (queue)
    cross join lateral (
      select t.ready_at
      from artifacts.tasks t
      where t.queue = q.queue and t.ready_at <= next_queue.instant
      order by t.queue, t.ready_at
      limit 1
    ) t
    order by t.ready_at
    limit 1
  );
end
$$;
comment on function artifacts.next_queue(text[], timestamptz) is
  'The queue whose oldest task has waited longest; null: none has a task that can be taken.';

create function artifacts.lock_ready_tasks(
  queue text,
  instant timestamptz,
  prefix text,
  from_agent text,
  blocked text[],
  max_entries integer
) returns setof artifacts.tasks
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
    select t.*
    from artifacts.tasks t
    cross join lateral (
      select g.from_agent, g.artifact_id from artifacts.grants g where g.grant_id = t.grant_id limit 1
    ) g
    cross join lateral (
      select a.key from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
    ) a
    where t.queue = lock_ready_tasks.queue
      and t.ready_at <= lock_ready_tasks.instant
      and (lock_ready_tasks.from_agent is null or g.from_agent = lock_ready_tasks.from_agent)
      and g.from_agent <> all (lock_ready_tasks.blocked)
      and (lock_ready_tasks.prefix is null or starts_with(a.key, lock_ready_tasks.prefix))
    order by t.queue, t.ready_at, t.grant_id
    limit lock_ready_tasks.max_entries
    -- A task that is being taken is not waited for.
    for update of t skip locked;
end
$$;
comment on function artifacts.lock_ready_tasks(text, timestamptz, text, text, text[], integer) is
  'The oldest tasks of a queue that nobody is taking. Their grants may have ended.';

create function artifacts.settle_lapse(caller jsonb, caller_agent text, lapsed artifacts.tasks, given artifacts.grants)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update artifacts.tasks t
  set state = 'parked', ready_at = null, take_id = null, reason = 'The last take lapsed.'
  where t.grant_id = (settle_lapse.lapsed).grant_id and t.queue = (settle_lapse.lapsed).queue;
  perform artifacts.record_task(
    settle_lapse.caller, settle_lapse.caller_agent, 'task.parked', (settle_lapse.lapsed).taken_by, settle_lapse.given,
    jsonb_build_object('attempt', (settle_lapse.lapsed).attempt)
  );
end
$$;
comment on function artifacts.settle_lapse(jsonb, text, artifacts.tasks, artifacts.grants) is
  'Parks a task whose last attempt lapsed. The look that finds it calls this.';

create function artifacts.take_task(
  caller jsonb,
  caller_agent text,
  agent_id text,
  waiting artifacts.tasks,
  seconds integer
) returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  given artifacts.grants;
  artifact artifacts.artifacts;
  said record;
  taken artifacts.tasks;
begin
  select g.* into given from artifacts.grants g where g.grant_id = (take_task.waiting).grant_id;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = given.artifact_id;
  if given.live_until <= clock_timestamp()
    or artifact.state = 'deleted'
    or artifact.ended_at is not null
    or artifact.expires_at <= clock_timestamp()
  then
    -- It ended with its grant.
    delete from artifacts.tasks t where t.grant_id = (take_task.waiting).grant_id and t.queue = (take_task.waiting).queue;
    return null;
  end if;
  if (take_task.waiting).attempt >= (take_task.waiting).max_attempts then
    perform artifacts.settle_lapse(take_task.caller, take_task.caller_agent, take_task.waiting, given);
    return null;
  end if;
  update artifacts.tasks t
  set state = 'taken',
    attempt = t.attempt + 1,
    ready_at = clock_timestamp() + make_interval(secs => take_task.seconds),
    take_id = 'take_' || replace(gen_random_uuid()::text, '-', ''),
    taken_by = take_task.agent_id,
    first_taken_at = coalesce(t.first_taken_at, clock_timestamp()),
    waits_again_since = null
  where t.grant_id = (take_task.waiting).grant_id and t.queue = (take_task.waiting).queue
  returning t.* into taken;
  perform artifacts.record_task(
    take_task.caller, take_task.caller_agent, 'task.taken', take_task.agent_id, given,
    jsonb_build_object('attempt', taken.attempt)
  );
  select h.* into said from artifacts.hand_over_of(given.grant_id) h;
  return artifacts.entry_json(given, artifact, said.note, said.reply_to, said.is_shared, taken) || jsonb_build_object(
    'take_id', taken.take_id, 'taken_until', agents.iso_timestamp(taken.ready_at)
  );
end
$$;
comment on function artifacts.take_task(jsonb, text, text, artifacts.tasks, integer) is
  'Gives a locked task to an agent: what /inbox/take answers about it. Null if there is nothing to '
  'do: its grant has ended, or its last attempt lapsed.';

create function public.agent_api_take_tasks(
  caller jsonb,
  agent_id text,
  max_entries integer,
  seconds integer,
  prefix text default null,
  from_agent text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
  queues text[];
  blocked text[];
  instant timestamptz;
  next_queue text;
  wanted integer;
  found_count integer;
  waiting artifacts.tasks;
  taken jsonb;
  tasks jsonb[] := '{}'::jsonb[];
begin
  caller_agent := agents.admit(agent_api_take_tasks.caller);
  subject := agents.require_self(caller_agent, agent_api_take_tasks.agent_id);
  perform artifacts.fill_queues(subject);
  queues := artifacts.queues_of(subject);
  blocked := artifacts.senders_blocked_by(subject);
  instant := clock_timestamp();
  loop
    wanted := agent_api_take_tasks.max_entries - cardinality(tasks);
    exit when wanted = 0;
    next_queue := artifacts.next_queue(queues, instant);
    exit when next_queue is null;
    if cardinality(queues) > 1 then
      -- One at a time, because another queue may have the next oldest.
      wanted := 1;
    end if;
    found_count := 0;
    for waiting in
      select t.*
      from artifacts.lock_ready_tasks(
        next_queue, instant, agent_api_take_tasks.prefix, agent_api_take_tasks.from_agent, blocked, wanted
      ) t
    loop
      found_count := found_count + 1;
      taken := artifacts.take_task(
        agent_api_take_tasks.caller, caller_agent, subject, waiting, agent_api_take_tasks.seconds
      );
      if taken is not null then
        tasks := tasks || taken;
      end if;
    end loop;
    if found_count < wanted then
      queues := array_remove(queues, next_queue);
    end if;
  end loop;
  return json_build_object('tasks', to_json(tasks));
end
$$;
comment on function public.agent_api_take_tasks(jsonb, text, integer, integer, text, text) is
  'Takes up to max_entries tasks of an agent, oldest first, for `seconds`: {tasks: [{take_id, '
  'taken_until, …}]}. Each task is held by one taker at a time. Optionally only files whose names '
  'begin with prefix, or of one sender. Raises forbidden, invalid_request.';

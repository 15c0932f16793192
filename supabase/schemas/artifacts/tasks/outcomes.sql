-- What becomes of a taken task. Each call names the take, so that a taker whose take has lapsed can
-- change nothing: another agent may have the task.

create function artifacts.lock_taken_task(caller_agent text, take_id text) returns artifacts.tasks
language plpgsql
volatile
set search_path = ''
as $$
declare
  task artifacts.tasks;
begin
  select t.* into task
  from artifacts.tasks t
  where t.take_id = lock_taken_task.take_id
    and (lock_taken_task.caller_agent is null or t.taken_by = lock_taken_task.caller_agent)
  for update;
  if not found then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  return task;
end
$$;
comment on function artifacts.lock_taken_task(text, text) is
  'The task whose last take this is, locked; it may have lapsed since. Raises take_lapsed for a '
  'take that is not the last one, and for somebody else''s.';

create function artifacts.require_held(task artifacts.tasks) returns artifacts.grants
language plpgsql
stable
set search_path = ''
as $$
declare
  given artifacts.grants;
begin
  select g.* into given from artifacts.grants g where g.grant_id = (require_held.task).grant_id;
  perform artifacts.refuse_ended_grant(given);
  if (require_held.task).state <> 'taken' or (require_held.task).ready_at <= clock_timestamp() then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  return given;
end
$$;
comment on function artifacts.require_held(artifacts.tasks) is
  'The grant of a locked task whose take still holds it. Raises take_lapsed, and the errors of '
  'refuse_ended_grant.';

create function public.agent_api_extend_take(caller jsonb, take_id text, seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  task artifacts.tasks;
begin
  caller_agent := agents.admit(agent_api_extend_take.caller);
  task := artifacts.lock_taken_task(caller_agent, agent_api_extend_take.take_id);
  perform artifacts.require_held(task);
  update artifacts.tasks t
  set ready_at = clock_timestamp() + make_interval(secs => agent_api_extend_take.seconds)
  where t.grant_id = task.grant_id and t.queue = task.queue
  returning t.* into task;
  return json_build_object('take_id', task.take_id, 'taken_until', agents.iso_timestamp(task.ready_at));
end
$$;
comment on function public.agent_api_extend_take(jsonb, text, integer) is
  'Holds a task for this many seconds from now: {take_id, taken_until}. Raises take_lapsed, '
  'grant_revoked, grant_expired, artifact_expired.';

create function artifacts.pause_after(attempt integer) returns integer
language sql
immutable
return least(3600, 10 * 2 ^ least(attempt - 1, 10))::integer;
comment on function artifacts.pause_after(integer) is
  'How many seconds a task rests after its nth failed attempt: 10, doubled each time, at most an '
  'hour.';

create function artifacts.failure_json(task artifacts.tasks) returns json
language sql
stable
return json_build_object(
  'grant_id', task.grant_id,
  'state', task.state,
  'next_at', agents.iso_timestamp(task.ready_at)
);
comment on function artifacts.failure_json(artifacts.tasks) is 'What /inbox/fail answers.';

create function public.agent_api_fail_task(
  caller jsonb,
  take_id text,
  reason text,
  retry_after_seconds integer default null,
  is_final boolean default false,
  is_interrupted boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  task artifacts.tasks;
  given artifacts.grants;
  is_parked boolean;
  failed_attempt integer;
begin
  caller_agent := agents.admit(agent_api_fail_task.caller);
  task := artifacts.lock_taken_task(caller_agent, agent_api_fail_task.take_id);
  if task.state in ('waiting', 'parked') then
    -- A caller that lost the first answer and repeats the request gets it now.
    return artifacts.failure_json(task);
  end if;
  given := artifacts.require_held(task);
  failed_attempt := task.attempt;
  -- A worker that is stopped says nothing about the task, even in its last attempt.
  is_parked := agent_api_fail_task.is_final
    or not agent_api_fail_task.is_interrupted and task.attempt >= task.max_attempts;
  update artifacts.tasks t
  set state = case when is_parked then 'parked' else 'waiting' end,
    ready_at = case
      when not is_parked then clock_timestamp() + make_interval(
        secs => coalesce(
          agent_api_fail_task.retry_after_seconds,
          case when agent_api_fail_task.is_interrupted then 0 else artifacts.pause_after(t.attempt) end
        )
      )
    end,
    attempt = t.attempt - case when agent_api_fail_task.is_interrupted and not is_parked then 1 else 0 end,
    reason = agent_api_fail_task.reason,
    waits_again_since = case when not is_parked then agents.present_transaction() end
  where t.grant_id = task.grant_id and t.queue = task.queue
  returning t.* into task;
  perform artifacts.record_task(
    agent_api_fail_task.caller, caller_agent, case when is_parked then 'task.parked' else 'task.failed' end,
    task.taken_by, given,
    jsonb_build_object('attempt', failed_attempt, 'next_at', agents.iso_timestamp(task.ready_at))
  );
  return artifacts.failure_json(task);
end
$$;
comment on function public.agent_api_fail_task(jsonb, text, text, integer, boolean, boolean) is
  'Gives a task back: it waits again after a pause, or is parked after its last attempt or if '
  'is_final. With is_interrupted, the take was no attempt, and there is no pause. Returns {grant_id, '
  'state, next_at | null}. Raises take_lapsed, grant_revoked, grant_expired, artifact_expired.';

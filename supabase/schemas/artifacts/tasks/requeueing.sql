-- The giver lets a task begin again.

create function public.agent_api_requeue_task(caller jsonb, grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  given artifacts.grants;
begin
  caller_agent := agents.admit(agent_api_requeue_task.caller);
  select g.* into given
  from artifacts.grants g
  where g.grant_id = agent_api_requeue_task.grant_id
    and g.grantee is not null
    and (caller_agent is null or g.from_agent = caller_agent);
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  perform artifacts.refuse_ended_grant(given);
  -- What is done stays done, and a taker keeps its take. Otherwise a giver that lost the answer,
  -- and repeats the request, would have work done twice that an agent took or finished meanwhile.
  update artifacts.tasks t
  set state = 'waiting',
    attempt = 0,
    ready_at = clock_timestamp(),
    take_id = null,
    waits_again_since = agents.present_transaction()
  where t.grant_id = given.grant_id
    and artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) in ('waiting', 'parked');
  return json_build_object('grant_id', given.grant_id, 'state', coalesce(
    (
      select t.state
      from artifacts.tasks t
      where t.grant_id = given.grant_id
      order by array_position(array['waiting', 'taken', 'done'], t.state)
      limit 1
    ),
    'waiting'
  ));
end
$$;
comment on function public.agent_api_requeue_task(jsonb, text) is
  'Lets the parked tasks of a grant, and those that rest after a failure, wait again: at once, and '
  'their attempts count from 0. Returns {grant_id, state}: waiting, unless it was taken or done '
  'meanwhile. Idempotent. Raises grant_not_found, grant_revoked, grant_expired, artifact_expired.';

-- A task is done, with a file that answers it or without. Its outcome is recorded once.

create function artifacts.finished_json(task artifacts.tasks) returns json
language sql
stable
return json_build_object(
  'grant_id', task.grant_id,
  'state', 'done',
  'reply', case when task.reply_grant_id is not null then json_build_object('grant_id', task.reply_grant_id) end
);
comment on function artifacts.finished_json(artifacts.tasks) is 'What /inbox/done answers.';

create function artifacts.task_to_finish(caller_agent text, agent_id text, take_id text, grant_id text)
returns artifacts.tasks
language plpgsql
stable
set search_path = ''
as $$
declare
  task artifacts.tasks;
  subject text;
  given artifacts.grants;
begin
  if task_to_finish.take_id is not null then
    select t.* into task
    from artifacts.tasks t
    where t.take_id = task_to_finish.take_id
      and (task_to_finish.caller_agent is null or t.taken_by = task_to_finish.caller_agent);
    if not found then
      raise sqlstate 'PT409' using message = 'take_lapsed';
    end if;
    return task;
  end if;

  subject := agents.require_self(task_to_finish.caller_agent, task_to_finish.agent_id);
  select g.* into given
  from artifacts.grants g
  where g.grant_id = task_to_finish.grant_id
    and (
      g.to_agent = subject
      or g.to_tag in (select t.tag from agents.agent_tags t where t.agent_id = subject)
    );
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if (select h.is_shared from artifacts.hand_over_of(given.grant_id) h) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "grant_id", "message": "Take it first, and send take_id: one agent of its tag works on it."}]}';
  end if;
  task.grant_id := given.grant_id;
  task.agent_id := subject;
  task.to_tag := given.to_tag;
  task.taken_by := subject;
  return task;
end
$$;
comment on function artifacts.task_to_finish(text, text, text, text) is
  'The task of a take, or of a grant to the agent itself, which may have no row. Raises '
  'take_lapsed, grant_not_found, forbidden, and invalid_request for a grant that one agent of a '
  'tag works on.';

create function public.agent_api_finish_task(
  caller jsonb,
  agent_id text,
  take_id text,
  grant_id text,
  reply_artifact_id text default null,
  reply_note text default null,
  reply_expires_at timestamptz default null,
  reply_grant_id text default null,
  reply_token_hash text default null,
  max_live_grants integer default 1000,
  max_ended_grants integer default 10000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  wanted artifacts.tasks;
  own_queue text;
  task artifacts.tasks;
  given artifacts.grants;
  replied_with artifacts.artifacts;
begin
  caller_agent := agents.admit(agent_api_finish_task.caller);
  wanted := artifacts.task_to_finish(
    caller_agent, agent_api_finish_task.agent_id, agent_api_finish_task.take_id, agent_api_finish_task.grant_id
  );
  own_queue := coalesce(wanted.agent_id, '') || coalesce('#' || wanted.to_tag, '');
  -- The artifact of the answer is locked before the task's row. So of two calls for one task, the
  -- second waits here, and then sees the outcome of the first.
  perform pg_advisory_xact_lock(hashtextextended('task ' || wanted.grant_id || ' of ' || own_queue, 0));
  select t.* into task from artifacts.tasks t where t.grant_id = wanted.grant_id and t.queue = own_queue;
  if task.state = 'done'
    and (agent_api_finish_task.take_id is null or task.take_id = agent_api_finish_task.take_id)
  then
    -- A caller that lost the first answer and repeats the request gets it now.
    return artifacts.finished_json(task);
  end if;
  select g.* into given from artifacts.grants g where g.grant_id = wanted.grant_id;
  perform artifacts.refuse_ended_grant(given);

  if agent_api_finish_task.reply_artifact_id is not null then
    replied_with := artifacts.lock_owned_artifact(wanted.taken_by, agent_api_finish_task.reply_artifact_id);
    perform public.agent_api_grant_artifact(
      agent_api_finish_task.caller,
      replied_with.artifact_id,
      given.from_agent,
      -- A grant ends with its artifact in any case.
      coalesce(agent_api_finish_task.reply_expires_at, replied_with.expires_at),
      agent_api_finish_task.reply_grant_id,
      agent_api_finish_task.reply_token_hash,
      agent_api_finish_task.max_live_grants,
      agent_api_finish_task.max_ended_grants,
      note => agent_api_finish_task.reply_note,
      reply_to => given.grant_id
    );
  end if;

  if agent_api_finish_task.take_id is null then
    insert into artifacts.tasks (grant_id, agent_id, to_tag, ready_at)
    values (wanted.grant_id, wanted.agent_id, wanted.to_tag, clock_timestamp())
    on conflict on constraint an_agent_has_a_task_once do nothing;
    -- The inbox reads tasks only of agents that have a queue.
    insert into artifacts.task_queues (agent_id, to_tag) values (wanted.agent_id, wanted.to_tag)
    on conflict on constraint task_queues_pkey do nothing;
  end if;
  update artifacts.tasks t
  set state = 'done',
    ready_at = null,
    done_at = clock_timestamp(),
    taken_by = wanted.taken_by,
    take_id = agent_api_finish_task.take_id,
    reason = null,
    reply_grant_id = case when replied_with.artifact_id is not null then agent_api_finish_task.reply_grant_id end,
    waits_again_since = null
  where t.grant_id = wanted.grant_id
    and t.queue = own_queue
    -- Without a take, only a task that nobody holds.
    and case
      when agent_api_finish_task.take_id is null
      then t.state <> 'taken' or t.ready_at <= clock_timestamp()
      else t.state = 'taken' and t.ready_at > clock_timestamp() and t.take_id = agent_api_finish_task.take_id
    end
  returning t.* into task;
  if not found then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  perform artifacts.record_task(
    agent_api_finish_task.caller, caller_agent, 'task.done', task.taken_by, given,
    jsonb_build_object('reply_grant_id', task.reply_grant_id)
  );
  return artifacts.finished_json(task);
end
$$;
comment on function public.agent_api_finish_task(
  jsonb, text, text, text, text, text, timestamptz, text, text, integer, integer
) is
  'Records that a task is done: the task of take_id, or of grant_id for a grant to the agent '
  'itself, or to each agent of its tag, that nobody holds. With reply_artifact_id, the same '
  'transaction grants this artifact of the taker to the giver, by default until the artifact ends. '
  'Returns {grant_id, state, reply | null}, and the same again if it is repeated. Raises '
  'take_lapsed, grant_not_found, invalid_request, grant_revoked, grant_expired, artifact_expired, '
  'and those of agent_api_grant_artifact.';

-- Enrolling: a proof of origin becomes an ordinary agent key.
-- If an event tells the operator the reason of a refusal, the refusal is returned, not raised: an
-- exception would roll back the event.

create function agents.enrol(
  caller jsonb,
  enrolment agents.enrolments,
  agent_id text,
  token_id text default null,
  token_expires_at timestamptz default null
) returns json
language plpgsql
volatile
set search_path = ''
as $$
declare
  enrolled_at constant timestamptz := clock_timestamp();
  agent_key constant text := 'ak_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  made_id constant text := 'key_' || replace(gen_random_uuid()::text, '-', '');
  known agents.enrolled_agents;
  newest agents.keys;
  is_repeated boolean;
  is_taken_over boolean;
  made agents.keys;
begin
  perform agents.end_access(enrol.agent_id);
  if agents.is_kept_out(enrol.agent_id) then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'agent_removed');
  end if;
  perform agents.enter_name(enrol.agent_id, enrolment);
  select * into known from agents.enrolled_agents a where a.agent_id = enrol.agent_id;
  is_taken_over := known.enrolment_id <> enrolment.enrolment_id;

  select * into newest
  from agents.keys k
  where k.agent_id = enrol.agent_id and k.enrolment_id = enrolment.enrolment_id
  order by k.generation desc
  limit 1;
  -- A caller that lost the answer repeats its request: the newest key was never used.
  is_repeated := newest.key_id is not null and newest.first_used_at is null
    and newest.revoked_at is null and newest.expires_at > enrolled_at;

  if enrolment.single_use_tokens then
    insert into agents.used_tokens as u (enrolment_id, token_id, key_id, expires_at)
    values (enrolment.enrolment_id, enrol.token_id, made_id, enrol.token_expires_at)
    on conflict on constraint a_token_is_used_once do update
    set key_id = excluded.key_id
    where is_repeated and u.key_id = newest.key_id;
    if not found then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'token_replayed');
    end if;
  end if;
  if enrolment.uses_left is not null and not is_repeated then
    update agents.enrolments e
    set uses_left = e.uses_left - 1
    where e.enrolment_id = enrolment.enrolment_id and e.uses_left > 0;
    if not found then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'used_up');
    end if;
  end if;

  update agents.keys k
  set revoked_at = enrolled_at, superseded_at = enrolled_at
  where is_repeated and k.key_id = newest.key_id;
  if is_taken_over then
    -- The keys and tags of the other enrolment end now, because its revocation no longer finds this
    -- agent.
    update agents.keys k
    set revoked_at = enrolled_at, superseded_at = enrolled_at
    where k.agent_id = enrol.agent_id
      and k.enrolment_id = known.enrolment_id
      and k.revoked_at is null;
    perform agents.end_enrolled_tags(caller, enrol.agent_id);
  end if;
  insert into agents.keys (key_id, agent_id, key_hash, expires_at, enrolment_id, generation)
  values (
    made_id,
    enrol.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    enrolled_at + make_interval(secs => enrolment.session_seconds),
    enrolment.enrolment_id,
    coalesce(known.generation, 0) + 1
  )
  returning * into made;
  insert into agents.enrolled_agents as a (agent_id, enrolment_id, generation, enrolled_at, due_at)
  values (
    made.agent_id, made.enrolment_id, made.generation, enrolled_at,
    enrolled_at + make_interval(secs => enrolment.ephemeral_seconds)
  )
  on conflict on constraint enrolled_agents_pkey do update
  set enrolment_id = excluded.enrolment_id,
    generation = excluded.generation,
    enrolled_at = excluded.enrolled_at,
    due_at = excluded.due_at,
    ended_at = null,
    kept_until = null,
    cut = 0;
  perform agents.record_event(
    caller, null, 'agent.enrolled', made.agent_id, made.key_id,
    jsonb_build_object('enrolment_id', made.enrolment_id, 'generation', made.generation)
  );
  perform agents.replace_tags(caller, made.agent_id, enrolment.tags, made.enrolment_id);

  return json_build_object(
    'agent_id', made.agent_id,
    'key', agent_key,
    'key_id', made.key_id,
    'expires_at', agents.iso_timestamp(made.expires_at),
    'tags', agents.tags_of(made.agent_id),
    'generation', made.generation,
    'ephemeral_seconds', enrolment.ephemeral_seconds
  );
end
$$;
comment on function agents.enrol(jsonb, agents.enrolments, text, text, timestamptz) is
  'Creates the agent key of an agent''s next generation, under the enrolment''s lock. The previous '
  'key stays live until the new one is used. If the previous key was never used, it ends now, and '
  'this does not count as another use of the enrolment. If another enrolment held the agent, the '
  'keys from that one end now, too. Raises agent_name_taken, limit_exceeded.';

create function agents.live_enrolment(enrolment_id text) returns agents.enrolments
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_enrolment agents.enrolments;
begin
  perform pg_advisory_xact_lock_shared(agents.enrolment_lock(live_enrolment.enrolment_id));
  -- A separate statement, so that it sees a revocation that the lock waited for.
  select * into found_enrolment
  from agents.enrolments e
  where e.enrolment_id = live_enrolment.enrolment_id
    and e.revoked_at is null
    and (e.expires_at is null or e.expires_at > clock_timestamp());
  return found_enrolment;
end
$$;
comment on function agents.live_enrolment(text) is
  'An enrolment that was not revoked and has not expired; it cannot be revoked before the '
  'transaction ends. Null: there is no such enrolment.';

create function agents.name_by_key(enrolment agents.enrolments, agent_name text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  named constant text := case
    when enrolment.agent_template is null then agent_name
    else replace(enrolment.agent_template, '{agent_name}', agent_name)
  end;
begin
  if enrolment.agent_id is not null then
    return enrolment.agent_id;
  end if;
  if starts_with(named, enrolment.agent_prefix) and length(named) = length(enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must have something after the prefix."}]}';
  end if;
  if not starts_with(named, enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = json_build_object('issues', json_build_array(json_build_object(
        'path', 'agent_name', 'message', 'Must begin with ' || enrolment.agent_prefix || '.'
      )));
  end if;
  if not agents.is_agent_id(named) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must be shorter: the enrolment adds to it."}]}';
  end if;
  return named;
end
$$;
comment on function agents.name_by_key(agents.enrolments, text) is
  'Who an agent becomes that enrols by this enrolment key and asks for agent_name. Raises '
  'invalid_request.';

create function public.enrol_with_key(caller jsonb, enrolment_key_hash text, agent_name text default null)
returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  named_id constant text := (
    select e.enrolment_id
    from agents.enrolments e
    where e.key_hash = enrol_with_key.enrolment_key_hash
  );
  enrolment agents.enrolments;
begin
  if named_id is null then
    return agents.refuse_enrolment(enrol_with_key.caller, null, 'unknown_enrolment_key');
  end if;
  enrolment := agents.live_enrolment(named_id);
  if enrolment.enrolment_id is null then
    return agents.refuse_enrolment(enrol_with_key.caller, named_id, 'ended');
  end if;
  if enrolment.agent_id is null and enrol_with_key.agent_name is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Required: this enrolment names no agent."}]}';
  end if;
  if enrolment.agent_id <> enrol_with_key.agent_name then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "This enrolment is for another agent. Leave the name out."}]}';
  end if;
  return agents.enrol(
    enrol_with_key.caller, enrolment, agents.name_by_key(enrolment, enrol_with_key.agent_name)
  );
end
$$;
comment on function public.enrol_with_key(jsonb, text, text) is
  'Enrols by an enrolment key: {agent_id, key, key_id, expires_at, tags, generation, '
  'ephemeral_seconds | null}, or {refused}. Raises invalid_request, agent_name_taken, '
  'limit_exceeded.';

create function public.enrol_with_token(
  caller jsonb,
  enrolment_id text,
  agent_id text,
  token_id text,
  token_expires_at timestamptz
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  enrolment constant agents.enrolments := agents.live_enrolment(enrol_with_token.enrolment_id);
begin
  if enrolment.kind is distinct from 'trust'
    or enrolment.agent_id <> enrol_with_token.agent_id
  then
    return agents.refuse_enrolment(enrol_with_token.caller, enrol_with_token.enrolment_id, 'ended');
  end if;
  return agents.enrol(
    enrol_with_token.caller, enrolment, enrol_with_token.agent_id, enrol_with_token.token_id,
    enrol_with_token.token_expires_at
  );
end
$$;
comment on function public.enrol_with_token(jsonb, text, text, text, timestamptz) is
  'Enrols by a token that the function has verified, and whose claims meet the enrolment''s '
  'conditions and give this agent_id. Answers and raises as enrol_with_key does.';

-- Enrolling: a proof of origin becomes an ordinary agent key.
-- If an event tells the operator the reason of a refusal, the refusal is returned, not raised: an
-- exception would roll back the event.

create function agents.enrol(
  caller jsonb,
  enrolment agents.enrolments,
  agent_id text,
  instance text,
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
  refusal text;
  tells_why boolean;
  made agents.keys;
begin
  perform agents.end_access(enrol.agent_id);
  select * into known from agents.enrolled_agents a where a.agent_id = enrol.agent_id;
  select * into newest
  from agents.keys k
  where k.agent_id = enrol.agent_id
    and k.enrolment_id = enrolment.enrolment_id
    and agents.is_same_place(enrolment.enrolment_id, k.instance, enrol.instance)
  order by k.generation desc
  limit 1;
  -- A caller that lost the answer repeats its request: the newest key was never used.
  is_repeated := newest.key_id is not null and newest.first_used_at is null
    and newest.revoked_at is null and newest.expires_at > enrolled_at;

  -- Before anything that depends on who has the name, so that this refusal does not.
  if (known.enrolment_id is distinct from enrolment.enrolment_id or known.ended_at is not null)
    and agents.has_all_agents(enrolment)
  then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'too_many_agents')::jsonb
      || jsonb_build_object('maximum', enrolment.max_agents);
  end if;
  if agents.has_all_instances(enrolment, enrol.agent_id, enrol.instance) then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'too_many_instances')::jsonb
      || jsonb_build_object('maximum', enrolment.max_instances);
  end if;
  if agents.is_kept_out(enrol.agent_id) then
    refusal := 'agent_removed';
  elsif not agents.may_enter(enrol.agent_id, enrolment) then
    refusal := 'agent_name_taken';
  end if;
  -- If the agent chose the name, and uses are limited, a refused name costs a use, and the answer
  -- does not say why. Otherwise, one enrolment key would tell about any number of names.
  tells_why := enrolment.agent_id is not null or enrolment.uses_left is null;
  if tells_why then
    if refusal = 'agent_removed' then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, refusal);
    end if;
    if refusal is not null then
      raise sqlstate 'PT409' using message = refusal;
    end if;
  end if;

  if enrolment.single_use_tokens then
    insert into agents.used_tokens as u (enrolment_id, token_id, key_id, expires_at)
    values (
      enrolment.enrolment_id,
      -- The issuer chose the jti, which may contain the agent's name.
      encode(sha256(convert_to(enrol.token_id, 'UTF8')), 'hex'),
      made_id,
      enrol.token_expires_at
    )
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
  -- Of two ways in that come at the same time, only the first gets the name.
  if refusal is null and not agents.enter_name(enrol.agent_id, enrolment) then
    refusal := 'agent_name_taken';
    if tells_why then
      raise sqlstate 'PT409' using message = refusal;
    end if;
  end if;
  if refusal is not null then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, refusal);
  end if;
  -- A holder that has left nothing is forgotten now.
  select * into known from agents.enrolled_agents a where a.agent_id = enrol.agent_id;
  is_taken_over := known.enrolment_id <> enrolment.enrolment_id;

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
    -- Its later revocation can still end the grants that were given until now.
    insert into agents.former_holders (agent_id, enrolment_id)
    select known.agent_id, known.enrolment_id
    where known.cut < 2
    on conflict on constraint former_holders_pkey do update set taken_in = excluded.taken_in;
    -- If this enrolment has the agent again, its revocation ends all grants.
    delete from agents.former_holders f
    where f.agent_id = enrol.agent_id and f.enrolment_id = enrolment.enrolment_id;
  end if;
  insert into agents.keys (
    key_id, agent_id, key_hash, expires_at, enrolment_id, generation, instance
  )
  values (
    made_id,
    enrol.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    enrolled_at + make_interval(secs => enrolment.session_seconds),
    enrolment.enrolment_id,
    agents.next_generation(enrolment.enrolment_id, known, enrol.instance),
    enrol.instance
  )
  returning * into made;
  insert into agents.enrolled_agents as a (agent_id, enrolment_id, generation, enrolled_at, due_at)
  values (
    made.agent_id,
    made.enrolment_id,
    case
      when agents.is_same_place(made.enrolment_id, null, made.instance) then made.generation
      else coalesce(known.generation, 0)
    end,
    enrolled_at,
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
    jsonb_strip_nulls(jsonb_build_object(
      'enrolment_id', made.enrolment_id, 'generation', made.generation, 'instance', made.instance
    ))
  );
  perform agents.replace_tags(caller, made.agent_id, enrolment.tags, made.enrolment_id);
  if exists (
    select from agents.names n
    where n.agent_id = made.agent_id and n.held_since = agents.present_transaction()
  ) then
    perform mesh.rest_addresses(array[made.agent_id]);
  end if;
  if known.enrolment_id is distinct from made.enrolment_id then
    -- Last, because registrations with both enrolments wait from here on.
    perform artifacts.count_for_enrolment(made.agent_id);
  end if;

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
comment on function agents.enrol(jsonb, agents.enrolments, text, text, text, timestamptz) is
  'Creates the agent key of the next generation of an agent, or of its instance, under the '
  'enrolment''s lock. The previous key stays live until the new one is used. If the previous key was never used, it ends now, and '
  'this does not count as another use of the enrolment. If another enrolment held the agent, the '
  'keys from that one end now, too. Raises agent_name_taken, limit_exceeded.';

create function public.agent_api_enrol_with_key(
  caller jsonb,
  enrolment_key_hash text,
  agent_name text default null,
  instance text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  named_id constant text := (
    select e.enrolment_id
    from agents.enrolments e
    where e.key_hash = agent_api_enrol_with_key.enrolment_key_hash
  );
  enrolment agents.enrolments;
begin
  if named_id is null then
    return agents.refuse_enrolment(agent_api_enrol_with_key.caller, null, 'unknown_enrolment_key');
  end if;
  enrolment := agents.live_enrolment(named_id);
  if enrolment.enrolment_id is null then
    return agents.refuse_enrolment(agent_api_enrol_with_key.caller, named_id, 'ended');
  end if;
  if enrolment.agent_id is null and agent_api_enrol_with_key.agent_name is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Required: this enrolment names no agent."}]}';
  end if;
  if enrolment.agent_id <> agent_api_enrol_with_key.agent_name then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "This enrolment is for another agent. Leave the name out."}]}';
  end if;
  return agents.enrol(
    agent_api_enrol_with_key.caller, enrolment,
    agents.name_by_key(enrolment, agent_api_enrol_with_key.agent_name),
    agent_api_enrol_with_key.instance
  );
end
$$;
comment on function public.agent_api_enrol_with_key(jsonb, text, text, text) is
  'Enrols by an enrolment key: {agent_id, key, key_id, expires_at, tags, generation, '
  'ephemeral_seconds | null}, or {refused}, with {maximum} if agents or instances are too many. '
  'Raises invalid_request, agent_name_taken, limit_exceeded.';

create function public.agent_api_enrol_with_token(
  caller jsonb,
  enrolment_id text,
  agent_id text,
  token_id text,
  token_expires_at timestamptz,
  instance text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  enrolment constant agents.enrolments := agents.live_enrolment(agent_api_enrol_with_token.enrolment_id);
begin
  if enrolment.kind is distinct from 'trust'
    or enrolment.agent_id <> agent_api_enrol_with_token.agent_id
  then
    return agents.refuse_enrolment(agent_api_enrol_with_token.caller, agent_api_enrol_with_token.enrolment_id, 'ended');
  end if;
  return agents.enrol(
    agent_api_enrol_with_token.caller, enrolment, agent_api_enrol_with_token.agent_id,
    agent_api_enrol_with_token.instance,
    agent_api_enrol_with_token.token_id, agent_api_enrol_with_token.token_expires_at
  );
end
$$;
comment on function public.agent_api_enrol_with_token(jsonb, text, text, text, timestamptz, text) is
  'Enrols by a token that the function has verified, and whose claims meet the enrolment''s '
  'conditions and give this agent_id. Answers and raises as agent_api_enrol_with_key does.';

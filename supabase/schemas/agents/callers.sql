-- Identifies the caller. Every operation takes `caller` as its first argument, so authentication is
-- part of the operation's transaction and costs no extra round trip:
--   {"kind": "agent", "key_hash": "<sha256 of the agent key, hex>", "request_id": "…"}
--   {"kind": "user", "agent_id": "…", "user_id": "<uuid>", "expires_at": "<timestamp>",
--     "request_id": "…"}, which the function reads from a signed-in user's verified token
--   {"kind": "operator", "request_id": "…"}
--   {"kind": "grant_token", "request_id": "…"}, for agent_api_redeem_grant_token alone
--   {"kind": "enrolment", "request_id": "…"}, for enrolments alone, which prove themselves

create function agents.authenticate(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  -- A variable: PostgreSQL would evaluate an expression again for each row that it compares.
  presented_hash constant text := case
    when caller ->> 'kind' = 'agent' then caller ->> 'key_hash'
  end;
  caller_agent text;
  caller_key text;
  came_by text;
  is_first_use boolean;
begin
  if caller ->> 'kind' = 'operator' then
    return null;
  end if;

  if caller ->> 'kind' = 'user' then
    caller_agent := agents.agent_of_user(caller);
    if caller_agent is not null
      and not exists (select from agents.names n where n.agent_id = caller_agent)
    then
      perform set_config('response.headers', '[{"x-caller": "first"}]', true);
    end if;
  else
    select k.agent_id, k.key_id, k.enrolment_id, k.first_used_at is null
    into caller_agent, caller_key, came_by, is_first_use
    from agents.keys k
    where k.key_hash = presented_hash
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp());
    if found then
      -- Recorded before anything is done for it: the keys of earlier generations end with the first
      -- use, and an exchange that is repeated before it replaces this key.
      if came_by is not null and is_first_use then
        raise sqlstate 'PT425' using message = 'first_use';
      end if;
      -- The Edge Function reads this header for its log and its counts, and does not pass it on. A
      -- header of PostgREST's answer costs no extra round trip. No agent_id needs escaping.
      perform set_config(
        'response.headers',
        '[{"x-caller": "' || caller_agent || ' ' || caller_key
          || coalesce(' ' || came_by, '') || '"}]',
        true
      ),
      -- For acting_key, in this transaction.
      set_config('agents.acting_key', presented_hash || ' ' || caller_key, true);
    end if;
  end if;

  if caller_agent is null then
    -- If an agent was cloned, the clone with the older key learns why it was refused. So it stops
    -- instead of enrolling again.
    if exists (
      select
      from agents.keys k
      where k.key_hash = presented_hash
        and k.superseded_at is not null
    ) then
      raise sqlstate 'PT401' using message = 'superseded';
    end if;
    raise sqlstate 'PT401' using message = 'unauthenticated';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate(jsonb) is
  'The calling agent''s identifier, or null for the operator. If an agent key identifies the '
  'caller, the answer''s header x-caller is `<agent_id> <key_id>`, followed by the enrolment that '
  'the key is from. Raises first_use for a key from an enrolment that was not used yet: '
  'agent_api_note_first_use must be called, and the request repeated. For the first user of a '
  'name, the header is `first`, and agent_api_note_first_use must be called after it. Raises '
  'agent_name_taken for a user whose name belongs to another way in. Raises superseded for a key '
  'that a newer generation ended. Raises unauthenticated for any other key that is unknown, expired '
  'or revoked, and for a user whose token has expired or whose agent was removed.';

create function agents.require_self(caller_agent text, agent_id text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if caller_agent <> require_self.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  if caller_agent is null and require_self.agent_id is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Required from the operator."}]}';
  end if;
  return coalesce(caller_agent, require_self.agent_id);
end
$$;
comment on function agents.require_self(text, text) is
  'The agent that a request is about: the calling agent, or the one that the operator (whose '
  'caller_agent is null) names. An agent need not name itself. Raises forbidden when an agent '
  'names another, and invalid_request when the operator names nobody.';

create function agents.require_one_of(caller_agent text, one_agent text, other_agent text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if caller_agent not in (require_one_of.one_agent, require_one_of.other_agent) then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.require_one_of(text, text, text) is
  'The caller_agent, or null for the operator. Raises forbidden for an agent that is neither of '
  'the two.';

create function agents.claim_for_operator(caller_agent text, agent_id text) returns text
language plpgsql
volatile
set search_path = ''
as $$
begin
  if claim_for_operator.caller_agent is null then
    perform agents.claim_name(claim_for_operator.agent_id, 'operator');
  end if;
  return claim_for_operator.agent_id;
end
$$;
comment on function agents.claim_for_operator(text, text) is
  'Returns agent_id. If the operator acts for an agent whose name is free (caller_agent is null), '
  'the name is the operator''s from now on.';

create function agents.subject_of(caller jsonb, agent_id text) returns text
language sql
stable
return agents.require_self(agents.authenticate(caller), agent_id);
comment on function agents.subject_of(jsonb, text) is
  'The agent that a read is about. Raises the errors of authenticate and require_self.';

create function agents.authenticate_operator(caller jsonb) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if agents.authenticate(authenticate_operator.caller) is not null then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
end
$$;
comment on function agents.authenticate_operator(jsonb) is
  'Lets the operator through. Raises unauthenticated, and forbidden for an agent.';

create function agents.actor_of(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  -- A variable: see authenticate.
  presented_hash constant text := actor_of.caller ->> 'key_hash';
begin
  return case actor_of.caller ->> 'kind'
    when 'user' then actor_of.caller ->> 'agent_id'
    when 'agent' then (select k.agent_id from agents.keys k where k.key_hash = presented_hash)
  end;
end
$$;
comment on function agents.actor_of(jsonb) is
  'Who a caller was, even if its key or token has expired or been revoked since. For the later '
  'steps of a request, after the first step authenticated it.';

-- An operation that writes admits its caller before it does anything else. Whatever ends an
-- agent's access waits for the writes that were admitted, and holds back others until it has
-- committed. So a removal finds everything that the agent wrote, and nothing is written after it.

create function agents.admit(caller jsonb) returns text
language plpgsql
volatile
set search_path = ''
as $$
declare
  admitted text;
begin
  -- For the operator, and for an unknown key, this locks nothing.
  perform pg_advisory_xact_lock_shared(agents.access_lock(agents.actor_of(admit.caller)));
  -- A separate statement, so that it sees what was committed while this transaction waited for the
  -- lock.
  admitted := agents.authenticate(admit.caller);
  if admit.caller ->> 'kind' = 'user' and not agents.claim_name(admitted, 'users') then
    raise sqlstate 'PT409' using message = 'agent_name_taken';
  end if;
  return admitted;
end
$$;
comment on function agents.admit(jsonb) is
  'Like authenticate, for an operation that writes: the caller''s access cannot end before the '
  'transaction does. A free name belongs to the users from their first change on.';

create function public.agent_api_describe_caller(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_describe_caller.caller);
  answer json;
begin
  if caller_agent is null then
    return json_build_object(
      'kind', 'operator', 'agent_id', null, 'key_id', null, 'expires_at', null, 'tags', json_build_array()
    );
  end if;
  if agent_api_describe_caller.caller ->> 'kind' = 'user' then
    return json_build_object(
      'kind', 'user',
      'agent_id', caller_agent,
      'key_id', null,
      'expires_at',
      agents.iso_timestamp((agent_api_describe_caller.caller ->> 'expires_at')::timestamptz),
      'tags', to_json(agents.tags_of(caller_agent))
    );
  end if;
  select json_build_object(
    'kind', 'agent',
    'agent_id', k.agent_id,
    'key_id', k.key_id,
    'expires_at', agents.iso_timestamp(k.expires_at),
    'tags', to_json(agents.tags_of(caller_agent))
  ) into answer
  from agents.keys k
  where k.key_hash = agent_api_describe_caller.caller ->> 'key_hash';
  return answer;
end
$$;
comment on function public.agent_api_describe_caller(jsonb) is
  'How the service identifies a caller: {kind, agent_id, key_id, expires_at, tags}. A user has no '
  'key_id, and expires_at is the token''s. Raises unauthenticated.';

create function public.agent_api_check_operator(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(agent_api_check_operator.caller);
  return json_build_object('kind', 'operator');
end
$$;
comment on function public.agent_api_check_operator(jsonb) is
  'Lets the operator through, for operations that need nothing else from the database. Raises '
  'unauthenticated, forbidden.';

create function public.agent_api_check_health() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object('status', 'ok')
$$;
comment on function public.agent_api_check_health() is 'Answers if the database does. /health calls it.';

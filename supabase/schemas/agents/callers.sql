-- Who is calling. Every operation takes `caller` as its first argument, so that authentication is
-- part of the same transaction as the operation and costs no round trip of its own:
--   {"kind": "agent", "key_hash": "<sha256 of the agent key, hex>", "request_id": "…"}
--   {"kind": "user", "agent_id": "…", "user_id": "<uuid>", "expires_at": "<timestamp>",
--     "request_id": "…"}, as the function has read it in the verified token of a signed-in user
--   {"kind": "operator", "request_id": "…"}
--   {"kind": "grant_token", "request_id": "…"}, for redeem_grant_token alone

create function agents.authenticate(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text;
  caller_key text;
begin
  if caller ->> 'kind' = 'operator' then
    return null;
  end if;

  if caller ->> 'kind' = 'user' then
    caller_agent := agents.agent_of_user(caller);
  else
    select k.agent_id, k.key_id into caller_agent, caller_key
    from agents.keys k
    where caller ->> 'kind' = 'agent'
      and k.key_hash = caller ->> 'key_hash'
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp());
    if found then
      -- For the log and the counts of the function, which keeps it to itself: a header of
      -- PostgREST's answer costs no round trip. No agent_id needs escaping.
      perform set_config(
        'response.headers', '[{"x-caller": "' || caller_agent || ' ' || caller_key || '"}]', true
      );
    end if;
  end if;

  if caller_agent is null then
    raise sqlstate 'PT401' using message = 'unauthenticated';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate(jsonb) is
  'The calling agent''s identifier, or null for the operator. Where a key says who it is, the '
  'answer''s header x-caller is `<agent_id> <key_id>`. Raises unauthenticated for an unknown, '
  'expired or revoked key, and for a user whose token has ended or whose agent was removed.';

create function agents.authenticate_as(caller jsonb, agent_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(authenticate_as.caller);
begin
  if caller_agent <> authenticate_as.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  if caller_agent is null and authenticate_as.agent_id is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Required from the operator."}]}';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate_as(jsonb, text) is
  'As authenticate, for a request about one agent: an agent need not name itself. Raises forbidden '
  'when it names another, and invalid_request when the operator names nobody.';

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

create function agents.authenticate_as_one_of(caller jsonb, one_agent text, other_agent text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(authenticate_as_one_of.caller);
begin
  if caller_agent not in (authenticate_as_one_of.one_agent, authenticate_as_one_of.other_agent) then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate_as_one_of(jsonb, text, text) is
  'As agents.authenticate; raises forbidden when the caller is an agent and neither of the two.';

create function agents.subject_of(caller jsonb, agent_id text) returns text
language sql
stable
return coalesce(agents.authenticate_as(caller, agent_id), agent_id);
comment on function agents.subject_of(jsonb, text) is
  'Whom a request is about: the calling agent, or the agent that the operator names. Raises as '
  'authenticate_as.';

create function agents.actor_of(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return case actor_of.caller ->> 'kind'
    when 'user' then actor_of.caller ->> 'agent_id'
    when 'agent' then (
      select k.agent_id from agents.keys k where k.key_hash = actor_of.caller ->> 'key_hash'
    )
  end;
end
$$;
comment on function agents.actor_of(jsonb) is
  'Who a caller was, even if its key or token has ended since. For the later steps of a request, '
  'whose first step authenticated it.';

create function public.describe_caller(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(describe_caller.caller);
  answer json;
begin
  if caller_agent is null then
    return json_build_object('kind', 'operator', 'agent_id', null, 'key_id', null, 'expires_at', null);
  end if;
  if describe_caller.caller ->> 'kind' = 'user' then
    return json_build_object(
      'kind', 'user',
      'agent_id', caller_agent,
      'key_id', null,
      'expires_at', agents.iso_timestamp((describe_caller.caller ->> 'expires_at')::timestamptz)
    );
  end if;
  select json_build_object(
    'kind', 'agent',
    'agent_id', k.agent_id,
    'key_id', k.key_id,
    'expires_at', agents.iso_timestamp(k.expires_at)
  ) into answer
  from agents.keys k
  where k.key_hash = describe_caller.caller ->> 'key_hash';
  return answer;
end
$$;
comment on function public.describe_caller(jsonb) is
  'Who a caller is to the service, and by which key: {kind, agent_id, key_id, expires_at}. Of a user '
  'there is no key, and expires_at is the token''s. Raises unauthenticated.';

create function public.check_operator(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(check_operator.caller);
  return json_build_object('kind', 'operator');
end
$$;
comment on function public.check_operator(jsonb) is
  'Lets the operator through, for operations that need nothing else of the database. Raises '
  'unauthenticated, forbidden.';

create function public.check_health() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object('status', 'ok')
$$;
comment on function public.check_health() is 'Answers when the database does; what /health calls.';

-- Who is calling. Every operation takes `caller` as its first argument, so that authentication is part of the same
-- transaction as the operation and costs no round trip of its own:
--   {"kind": "agent", "key_hash": "<sha256 of the agent key, hex>", "request_id": "…"}
--   {"kind": "operator", "request_id": "…"}

create function agents.authenticate(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text;
begin
  if caller ->> 'kind' = 'operator' then
    return null;
  end if;

  select k.agent_id into caller_agent
  from agents.keys k
  where caller ->> 'kind' = 'agent'
    and k.key_hash = caller ->> 'key_hash'
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > clock_timestamp());

  if caller_agent is null then
    raise sqlstate 'PT401' using message = 'unauthenticated';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate(jsonb) is
  'The calling agent''s identifier, or null for the operator. Raises unauthenticated for an unknown, expired or revoked key.';

create function agents.authenticate_as(caller jsonb, agent_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(authenticate_as.caller);
begin
  if caller_agent is not null and caller_agent is distinct from authenticate_as.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate_as(jsonb, text) is
  'As authenticate; raises forbidden when an agent names another agent than itself.';

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
language sql
stable
set search_path = ''
as $$
  select k.agent_id
  from agents.keys k
  where actor_of.caller ->> 'kind' = 'agent' and k.key_hash = actor_of.caller ->> 'key_hash'
$$;
comment on function agents.actor_of(jsonb) is
  'Who a caller was, whether its key still lives or not: for the later steps of a request that was authenticated in its first.';

create function agents.record_event(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  object_id text default null,
  details jsonb default '{}'
) returns void
language sql
volatile
set search_path = ''
as $$
  insert into agents.events (actor_kind, actor_agent_id, action, subject_agent_id, object_id, details, request_id)
  values (
    record_event.caller ->> 'kind',
    record_event.caller_agent,
    record_event.action,
    record_event.subject_agent_id,
    record_event.object_id,
    record_event.details,
    record_event.caller ->> 'request_id'
  )
$$;
comment on function agents.record_event(jsonb, text, text, text, text, jsonb) is
  'Appends to agents.events. caller_agent is what authenticate returned: null for the operator.';

create function agents.iso_timestamp(instant timestamptz) returns text
language sql
stable
set search_path = ''
as $$
  select to_char(iso_timestamp.instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function agents.iso_timestamp(timestamptz) is 'How every answer writes a timestamp: ISO 8601, UTC, milliseconds, Z.';

revoke all on function
  agents.authenticate(jsonb),
  agents.authenticate_as(jsonb, text),
  agents.authenticate_operator(jsonb),
  agents.actor_of(jsonb),
  agents.record_event(jsonb, text, text, text, text, jsonb),
  agents.iso_timestamp(timestamptz)
from public, anon, authenticated;

grant execute on function
  agents.authenticate(jsonb),
  agents.authenticate_as(jsonb, text),
  agents.authenticate_operator(jsonb),
  agents.actor_of(jsonb),
  agents.record_event(jsonb, text, text, text, text, jsonb),
  agents.iso_timestamp(timestamptz)
to service_role;

-- Senders whose grants an agent does not want to see.

create table artifacts.blocked_senders (
  agent_id agents.agent_id not null,
  from_agent agents.agent_id not null,
  blocked_at timestamptz not null default clock_timestamp(),

  constraint a_sender_is_blocked_once primary key (agent_id, from_agent)
);
comment on table artifacts.blocked_senders is
  'One row per agent and sender whose grants its inbox hides. The grants still exist and can be '
  'opened. The sender does not learn of the block.';

-- For a name that gets another holder.
create index blocked_senders_by_sender on artifacts.blocked_senders (from_agent);

create function artifacts.senders_blocked_by(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select b.from_agent::text from artifacts.blocked_senders b where b.agent_id = senders_blocked_by.agent_id
  );
end
$$;
comment on function artifacts.senders_blocked_by(text) is
  'The senders whose grants an agent does not see.';

create function artifacts.is_blocked(agent_id text, from_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from artifacts.blocked_senders b
    where b.agent_id = is_blocked.agent_id and b.from_agent = is_blocked.from_agent
  );
end
$$;
comment on function artifacts.is_blocked(text, text) is
  'Whether one agent has blocked the grants of another.';

create function public.agent_api_block_sender(
  caller jsonb,
  agent_id text,
  from_agent text,
  max_blocked integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
begin
  caller_agent := agents.admit(agent_api_block_sender.caller);
  subject := agents.require_self(caller_agent, agent_api_block_sender.agent_id);
  -- Blocks by one agent run one at a time, so that the count is exact.
  perform pg_advisory_xact_lock(hashtextextended('inbox of ' || subject, 0));
  if not artifacts.is_blocked(subject, agent_api_block_sender.from_agent) then
    if cardinality(artifacts.senders_blocked_by(subject)) >= agent_api_block_sender.max_blocked then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object('limit', 'blocked_senders', 'maximum', agent_api_block_sender.max_blocked);
    end if;
    insert into artifacts.blocked_senders (agent_id, from_agent) values (subject, agent_api_block_sender.from_agent);
    perform agents.record_change(
      agent_api_block_sender.caller, caller_agent, 'sender.blocked', subject,
      other_agent_id => agent_api_block_sender.from_agent
    );
  end if;
  return json_build_object('from_agent', agent_api_block_sender.from_agent, 'blocked', true);
end
$$;
comment on function public.agent_api_block_sender(jsonb, text, text, integer) is
  'Hides a sender''s grants from an agent''s inbox, including existing ones. Idempotent. Raises '
  'forbidden, invalid_request, limit_exceeded.';

create function public.agent_api_unblock_sender(
  caller jsonb,
  agent_id text,
  from_agent text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
begin
  caller_agent := agents.admit(agent_api_unblock_sender.caller);
  subject := agents.require_self(caller_agent, agent_api_unblock_sender.agent_id);
  perform pg_advisory_xact_lock(hashtextextended('inbox of ' || subject, 0));
  delete from artifacts.blocked_senders b
  where b.agent_id = subject and b.from_agent = agent_api_unblock_sender.from_agent;
  if found then
    perform agents.record_change(
      agent_api_unblock_sender.caller, caller_agent, 'sender.unblocked', subject,
      other_agent_id => agent_api_unblock_sender.from_agent
    );
  end if;
  return json_build_object('from_agent', agent_api_unblock_sender.from_agent, 'blocked', false);
end
$$;
comment on function public.agent_api_unblock_sender(jsonb, text, text) is
  'Shows a sender''s grants in an agent''s inbox again. Idempotent. Raises forbidden, '
  'invalid_request.';

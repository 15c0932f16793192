-- Requests that the other side declined: it revoked them without having agreed. For a day after
-- that, the same request has no effect.

create table mesh.declined_requests (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  declined_by agents.agent_id not null,
  declined_at timestamptz not null default clock_timestamp(),

  constraint a_request_is_declined_once primary key (from_agent, to_agent, proto, port),
  constraint a_side_of_the_rule_declines check (declined_by in (from_agent, to_agent))
);
comment on table mesh.declined_requests is
  'One row per rule whose request was declined in the last day. Separate from rules because it '
  'outlives them: the agent that asked cannot clear it with /peer/remove. Older rows have no '
  'effect, and are deleted when somebody declines another request.';

create index declined_requests_by_age on mesh.declined_requests (declined_at);
-- For a name that gets another holder.
create index declined_requests_to_agent on mesh.declined_requests (to_agent);

create function mesh.is_declined(rule mesh.rules, caller_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from mesh.declined_requests d
    where d.from_agent = (is_declined.rule).from_agent
      and d.to_agent = (is_declined.rule).to_agent
      and d.proto = (is_declined.rule).proto
      and d.port = (is_declined.rule).port
      and d.declined_by <> is_declined.caller_agent
      and d.declined_at > clock_timestamp() - interval '1 day'
  );
end
$$;
comment on function mesh.is_declined(mesh.rules, text) is
  'Whether the other side has declined this rule to the caller within a day. Never true for the '
  'operator, or for the agent that declined it.';

create function mesh.count_declined(requester text, decliner text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*)
    from (
      select d.declined_by, d.declined_at
      from mesh.declined_requests d
      where d.from_agent = count_declined.requester and d.to_agent = count_declined.decliner
      union all
      select d.declined_by, d.declined_at
      from mesh.declined_requests d
      where d.from_agent = count_declined.decliner and d.to_agent = count_declined.requester
    ) of_the_two
    where declined_by = count_declined.decliner and declined_at > clock_timestamp() - interval '1 day'
  );
end
$$;
comment on function mesh.count_declined(text, text) is
  'How many requests from one agent another agent has declined within a day.';

create function mesh.decline_request(rule mesh.rules, decliner text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.declined_requests as d (from_agent, to_agent, proto, port, declined_by)
  values (
    (decline_request.rule).from_agent, (decline_request.rule).to_agent,
    (decline_request.rule).proto, (decline_request.rule).port,
    decline_request.decliner
  )
  on conflict on constraint a_request_is_declined_once do update
  set declined_by = excluded.declined_by, declined_at = excluded.declined_at;

  -- Deletes more rows than it adds, so that rows older than a day do not accumulate.
  delete from mesh.declined_requests d
  using (
    select o.from_agent, o.to_agent, o.proto, o.port
    from mesh.declined_requests o
    where o.declined_at < now() - interval '1 day'
    order by o.declined_at
    limit 10
    for update skip locked
  ) old
  where (d.from_agent, d.to_agent, d.proto, d.port)
    = (old.from_agent, old.to_agent, old.proto, old.port);
end
$$;
comment on function mesh.decline_request(mesh.rules, text) is
  'Records that an agent has declined this request, and deletes some rows that are more than a '
  'day old.';

create function mesh.forget_declined(rule mesh.rules) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from mesh.declined_requests d
  where d.from_agent = (forget_declined.rule).from_agent
    and d.to_agent = (forget_declined.rule).to_agent
    and d.proto = (forget_declined.rule).proto
    and d.port = (forget_declined.rule).port;
end
$$;
comment on function mesh.forget_declined(mesh.rules) is
  'Clears the record that a request was declined: the agent that declined it, or the operator, has '
  'put the rule.';

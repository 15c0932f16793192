-- How many rules and requests an agent may have.

create function mesh.count_requests(requester text, target text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
      select count(*)
      from mesh.rules r
      where not r.active
        and r.from_agent = count_requests.requester
        and r.to_agent = count_requests.target
        and r.from_agreed_at is not null
    ) + (
      select count(*)
      from mesh.rules r
      where not r.active
        and r.from_agent = count_requests.target
        and r.to_agent = count_requests.requester
        and r.to_agreed_at is not null
    ) + mesh.count_declined(count_requests.requester, count_requests.target);
end
$$;
comment on function mesh.count_requests(text, text) is
  'How many requests from one agent wait for another, or were declined by it within a day.';

create function mesh.refuse_beyond_limits(
  rule mesh.rules,
  caller_agent text,
  max_rules integer,
  max_requests integer,
  max_requests_per_target integer
) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  target text collate "C";
begin
  if (refuse_beyond_limits.rule).active then
    if exists (
      select
      from unnest(array[
        (refuse_beyond_limits.rule).from_agent, (refuse_beyond_limits.rule).to_agent
      ]) as named (agent_id)
      where (
          select count(*) from mesh.rules r where r.active and r.from_agent = named.agent_id
        ) + (
          select count(*) from mesh.rules r where r.active and r.to_agent = named.agent_id
        ) > refuse_beyond_limits.max_rules
    ) then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object('limit', 'rules', 'maximum', refuse_beyond_limits.max_rules);
    end if;
    return;
  end if;

  -- Only the caller's own requests count. So nobody can use up another agent's limit.
  if (
    select count(*)
    from mesh.rules r
    where not r.active
      and (
        (r.from_agent = refuse_beyond_limits.caller_agent and r.from_agreed_at is not null)
        or (r.to_agent = refuse_beyond_limits.caller_agent and r.to_agreed_at is not null)
      )
  ) > refuse_beyond_limits.max_requests then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'requests', 'maximum', refuse_beyond_limits.max_requests);
  end if;

  -- Requests that wait for an agent fill its map. Count them per requester, not in total: with a
  -- limit on the total, one requester could keep all others from asking.
  target := mesh.waiting_for(refuse_beyond_limits.rule);
  if mesh.count_requests(refuse_beyond_limits.caller_agent, target)
    > refuse_beyond_limits.max_requests_per_target
  then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'requests_per_target', 'maximum', refuse_beyond_limits.max_requests_per_target
      );
  end if;
end
$$;
comment on function mesh.refuse_beyond_limits(mesh.rules, text, integer, integer, integer) is
  'Raises limit_exceeded if the rule that was just put is one too many. An active rule counts for '
  'both of its agents. A request counts for the agent that made it, in total and among that '
  'agent''s requests to the same target.';

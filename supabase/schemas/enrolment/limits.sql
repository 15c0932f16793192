-- The operator changes how many agents and bytes an enrolment may have, and sees which are near.

create function public.agent_api_set_enrolment_limits(
  caller jsonb,
  enrolment_id text,
  limits jsonb
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  limited agents.enrolments;
begin
  perform agents.authenticate_operator(agent_api_set_enrolment_limits.caller);
  -- Waits for running enrolments, which go by the former limits.
  perform pg_advisory_xact_lock(agents.enrolment_lock(agent_api_set_enrolment_limits.enrolment_id));
  if coalesce((agent_api_set_enrolment_limits.limits ->> 'max_agents')::bigint, 1) not between 1 and 100000 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "max_agents", "message": "Must be a whole number from 1 to 100000."}]}';
  end if;
  if (agent_api_set_enrolment_limits.limits ->> 'quota_bytes')::bigint < 0 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "quota_bytes", "message": "Must be a number of bytes, at least 0."}]}';
  end if;
  update agents.enrolments e
  set max_agents = coalesce((agent_api_set_enrolment_limits.limits ->> 'max_agents')::integer, e.max_agents),
    quota_bytes = case
      when agent_api_set_enrolment_limits.limits ? 'quota_bytes'
        then (agent_api_set_enrolment_limits.limits ->> 'quota_bytes')::bigint
      else e.quota_bytes
    end
  where e.enrolment_id = agent_api_set_enrolment_limits.enrolment_id
  returning * into limited;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "There is no such enrolment."}]}';
  end if;
  perform agents.record_event(
    agent_api_set_enrolment_limits.caller, null, 'enrolment.limited', null, limited.enrolment_id,
    jsonb_build_object('max_agents', limited.max_agents, 'quota_bytes', limited.quota_bytes)
  );
  return agents.enrolment_json(limited);
end
$$;
comment on function public.agent_api_set_enrolment_limits(jsonb, text, jsonb) is
  'Changes limits of an enrolment: {max_agents, quota_bytes: bytes | 0 (any number) | null (the '
  'default again)}; what is left out stays. Nothing ends: agents and files beyond a lower limit '
  'stay, and only new ones are refused. Returns the enrolment. Raises invalid_request, and '
  'forbidden for an agent.';

create function agents.count_live_agents(enrolment_id text, most integer) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*)
    from (
      select
      from agents.enrolled_agents a
      where a.enrolment_id = count_live_agents.enrolment_id and a.cut = 0 and a.ended_at is null
      order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
      limit count_live_agents.most
    ) live
  );
end
$$;
comment on function agents.count_live_agents(text, integer) is
  'How many agents of an enrolment have not ended, up to a number: after max_agents was lowered, '
  'there may be very many.';

create function public.agent_api_count_use_of_enrolments(enrolment_ids text[]) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_object_agg(i.enrolment_id, json_build_object(
        'agents', agents.count_live_agents(i.enrolment_id, 100000),
        'held_bytes', (
          select coalesce(sum(t.bytes), 0)
          from artifacts.enrolment_totals t
          where t.enrolment_id = i.enrolment_id
        )
      )),
      '{}'
    )
    from unnest(agent_api_count_use_of_enrolments.enrolment_ids) as i (enrolment_id)
  );
end
$$;
comment on function public.agent_api_count_use_of_enrolments(text[]) is
  'How many agents these enrolments have, up to 100,000 each, and how many bytes these hold '
  'together: {enrolment_id: {agents, held_bytes}}.';

create function public.agent_api_list_full_enrolments(quota_bytes bigint, max_entries integer default 1000)
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_agg(json_build_object(
        'enrolment_id', f.enrolment_id,
        'label', f.label,
        'agents', f.agents,
        'max_agents', f.max_agents,
        'held_bytes', f.held_bytes,
        'quota_bytes', f.quota
      ) order by f.created_at, f.enrolment_id),
      '[]'
    )
    from (
      select e.enrolment_id, e.label, e.agent_id, e.max_agents, e.created_at,
        -- No more than decide.
        agents.count_live_agents(e.enrolment_id, e.max_agents) as agents,
        held.bytes as held_bytes,
        artifacts.quota_of_enrolment(e.quota_bytes, agent_api_list_full_enrolments.quota_bytes) as quota
      from (
        select *
        from agents.enrolments i
        where not agents.has_ended(i)
        order by i.created_at, i.enrolment_id
        limit agent_api_list_full_enrolments.max_entries
      ) e
      cross join lateral (
        select coalesce(sum(t.bytes), 0) as bytes
        from artifacts.enrolment_totals t
        where t.enrolment_id = e.enrolment_id
      ) held
    ) f
    -- An enrolment for one agent needs no second place.
    where f.agent_id is null and f.agents * 10 >= f.max_agents * 9
      or f.quota > 0 and f.held_bytes * 10 >= f.quota * 9
  );
end
$$;
comment on function public.agent_api_list_full_enrolments(bigint, integer) is
  'The live enrolments whose agents are at least nine tenths of max_agents, or whose bytes are nine '
  'tenths of the quota, oldest first, among the max_entries oldest: [{enrolment_id, label | null, '
  'agents, max_agents, held_bytes, quota_bytes (0: none)}]. quota_bytes is the project''s quota for '
  'one agent.';

-- How many agents an enrolment may have, and how many instances of one agent.

create function agents.is_same_place(enrolment_id text, instance text, other_instance text)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return is_same_place.instance is not distinct from is_same_place.other_instance
    or exists (
      select
      from agents.enrolments e
      where e.enrolment_id = is_same_place.enrolment_id and e.max_instances = 1
    );
end
$$;
comment on function agents.is_same_place(text, text, text) is
  'Whether a key of one instance replaces a key of the other: it is the same instance, or the '
  'enrolment allows only one. An instance without a name is null.';

create function agents.has_all_agents(enrolment agents.enrolments) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- One enrolment of another agent at a time, so that each sees those before it.
  perform from agents.enrolments e
  where e.enrolment_id = has_all_agents.enrolment.enrolment_id
  for no key update;
  return (
    select count(*)
    from (
      select
      from agents.enrolled_agents a
      where a.enrolment_id = has_all_agents.enrolment.enrolment_id
        and a.cut = 0
        and a.ended_at is null
      order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
      limit has_all_agents.enrolment.max_agents
    ) live
  ) = has_all_agents.enrolment.max_agents;
end
$$;
comment on function agents.has_all_agents(agents.enrolments) is
  'Whether an enrolment has as many agents as it may have. The answer is right until the '
  'transaction ends, except that agents may end meanwhile.';

create function agents.has_all_instances(enrolment agents.enrolments, agent_id text, instance text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select count(distinct coalesce(k.instance, '')) >= has_all_instances.enrolment.max_instances
  from agents.keys k
  where k.agent_id = has_all_instances.agent_id
    and k.enrolment_id = has_all_instances.enrolment.enrolment_id
    and k.revoked_at is null
    and k.expires_at > clock_timestamp()
    and not agents.is_same_place(
      has_all_instances.enrolment.enrolment_id, k.instance, has_all_instances.instance
    )
$$;
comment on function agents.has_all_instances(agents.enrolments, text, text) is
  'Whether as many other instances of an agent as the enrolment allows have live keys, under '
  'end_access(agent_id).';

create function agents.next_generation(
  enrolment_id text,
  known agents.enrolled_agents,
  instance text
) returns integer
language sql
stable
set search_path = ''
as $$
  select greatest(
    max(k.generation),
    -- The keys of an agent that was silent for long are deleted.
    case
      when agents.is_same_place(next_generation.enrolment_id, null, next_generation.instance)
      then known.generation
    end,
    0
  ) + 1
  from agents.keys k
  where k.agent_id = next_generation.known.agent_id
    and agents.is_same_place(next_generation.enrolment_id, k.instance, next_generation.instance)
$$;
comment on function agents.next_generation(text, agents.enrolled_agents, text) is
  'The generation of an instance''s next key: higher than that of each key which it replaces.';

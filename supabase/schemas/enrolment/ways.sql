-- Who can become an agent, as the operator sees it.

create function agents.can_name(enrolment agents.enrolments, name text) returns boolean
language sql
stable
set search_path = ''
as $$
  select case
    when enrolment.agent_id is not null then enrolment.agent_id = name
    when enrolment.agent_prefix is not null
      then starts_with(name, enrolment.agent_prefix) and name <> enrolment.agent_prefix
    when enrolment.agent_template is not null
      -- Every character that is special in a pattern and that a template may have.
      then name ~ (
        '^' || regexp_replace(replace(enrolment.agent_template, '.', '\.'), '\{[^}]*\}', '.+', 'g')
        -- A name that loses a part of the claims ends in a digest.
        || '(\.[0-9a-f]{20})?$'
      )
    else true
  end
$$;
comment on function agents.can_name(agents.enrolments, text) is
  'Whether an agent that enrols could get a name, for some proof.';

create function public.agent_api_read_ways(
  agent_id text,
  max_entries integer default 1000
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  holder agents.names;
begin
  select * into holder from agents.names n where n.agent_id = agent_api_read_ways.agent_id;
  return json_build_object(
    'agent_id', agent_api_read_ways.agent_id,
    'ways', to_json(holder.ways),
    'taken_at', agents.iso_timestamp(holder.taken_at),
    'kept_out', case
      when exists (
        select from agents.removed_agents r where r.agent_id = agent_api_read_ways.agent_id
      ) then 'removed'
      when agents.is_kept_out(agent_api_read_ways.agent_id) then 'erased'
    end,
    'live_keys', (
      select coalesce(json_agg(json_build_object(
        'key_id', k.key_id,
        'enrolment_id', k.enrolment_id,
        'expires_at', agents.iso_timestamp(k.expires_at)
      ) order by k.created_at), '[]')
      from (
        select *
        from agents.keys i
        where i.agent_id = agent_api_read_ways.agent_id
          and i.revoked_at is null
          and (i.expires_at is null or i.expires_at > now())
        order by i.created_at desc
        limit 100
      ) k
    ),
    'enrolments', (
      select coalesce(json_agg(json_build_object(
        'enrolment_id', e.enrolment_id,
        'label', e.label,
        'kind', e.kind,
        'by', case
          when e.agent_id is not null then 'agent_id'
          when e.agent_prefix is not null then 'agent_prefix'
          when e.agent_template is not null then 'agent_template'
          else 'any name'
        end,
        'may_enter', e.may_enter
      ) order by e.created_at, e.enrolment_id), '[]')
      from (
        select i.*, agents.may_enter(agent_api_read_ways.agent_id, i) as may_enter
        from agents.enrolments i
        where not agents.has_ended(i)
          and i.uses_left is distinct from 0
          and agents.can_name(i, agent_api_read_ways.agent_id)
        order by i.created_at, i.enrolment_id
        limit agent_api_read_ways.max_entries
      ) e
    ),
    'users', coalesce('users' = any (holder.ways), true)
      and not agents.is_kept_out(agent_api_read_ways.agent_id),
    'policy_lines', (
      select count(*)
      from mesh.policy_lines l
      where agent_api_read_ways.agent_id in (l.from_name, l.to_name)
    )
  );
end
$$;
comment on function public.agent_api_read_ways(text, integer) is
  'Who can become an agent: {agent_id, ways: [operator | users | enrolment_id] | null (the name is '
  'free), taken_at | null, kept_out: removed | erased | null, live_keys: [{key_id, enrolment_id | '
  'null, expires_at | null}], enrolments: the live ones that could give this name, [{enrolment_id, '
  'label | null, kind, by, may_enter}], users: whether a user with this agent_id is accepted, '
  'policy_lines: how many lines of the policy name the agent}.';

-- Which enrolment may take which name. agents/names/ has whose a name is.

create function agents.is_taken(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  if enrolment.agent_id is not null then
    -- The operator named this agent, whatever it was before.
    return false;
  end if;
  if enrolment.kind = 'key' then
    -- The agent chose the name. So it must be unused: without live keys, files, tags, a peer or
    -- requests, and named by no live grant, rule or policy.
    return agents.holds_something(is_taken.agent_id)
      or exists (select from agents.usage u where u.agent_id = is_taken.agent_id);
  end if;
  -- The name comes from the claims, so others may have named this agent before it came.
  return exists (
      select from agents.keys k where k.agent_id = is_taken.agent_id and k.revoked_at is null
    )
    or exists (
      select
      from artifacts.totals t
      where t.agent_id = is_taken.agent_id and t.pending + t.committed + t.superseded > 0
    )
    or exists (select from mesh.peers p where p.agent_id = is_taken.agent_id);
end
$$;
comment on function agents.is_taken(text, agents.enrolments) is
  'Whether a name that belongs to nobody is nevertheless used, by an agent that this enrolment is '
  'not for.';

create function agents.is_abandoned(holder agents.names) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (is_abandoned.holder).ways <> '{}'
    and not exists (
      select
      from unnest((is_abandoned.holder).ways) w
      where not exists (
        select
        from agents.enrolments e
        where e.enrolment_id = w and (agents.has_ended(e) or e.uses_left = 0)
      )
    )
    and not exists (
      select
      from agents.enrolled_agents a
      where a.agent_id = (is_abandoned.holder).agent_id and a.ended_at is null
    )
    and agents.leads_until((is_abandoned.holder).agent_id) is null
    -- They may be very many: the sweep releases them before it forgets the name.
    and not exists (
      select
      from artifacts.tasks t
      where t.agent_id = (is_abandoned.holder).agent_id and t.to_tag is not null
    );
end
$$;
comment on function agents.is_abandoned(agents.names) is
  'Whether the holder of a name can never come back, and has left nothing.';

create function agents.can_take_over(enrolment agents.enrolments, holder agents.names) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  if (can_take_over.enrolment).agent_id is null then
    return false;
  end if;
  return 'operator' = any ((can_take_over.holder).ways)
    or (
      (can_take_over.holder).ways <> '{}'
      and not exists (
        select
        from unnest((can_take_over.holder).ways) w
        where not exists (
          select
          from agents.enrolments e
          where e.enrolment_id = w
            -- The operator has named the agent there, too.
            and e.agent_id = (can_take_over.enrolment).agent_id
            and (agents.has_ended(e) or e.uses_left = 0)
        )
      )
      -- A revocation that is not done still has to end what that enrolment gave.
      and not exists (
        select
        from agents.enrolled_agents a
        join agents.enrolments e on e.enrolment_id = a.enrolment_id
        where a.agent_id = (can_take_over.enrolment).agent_id
          and e.revoked_at is not null
          and a.cut = 0
      )
    );
end
$$;
comment on function agents.can_take_over(agents.enrolments, agents.names) is
  'Whether the operator has named this agent in the enrolment, and the name is the operator''s, or '
  'belongs to enrolments for this agent alone with which nobody can enrol any more.';

create function agents.may_enter(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
stable
set search_path = ''
as $$
declare
  holder agents.names;
begin
  select * into holder from agents.names n where n.agent_id = may_enter.agent_id;
  if holder.agent_id is null then
    return not agents.is_taken(may_enter.agent_id, enrolment);
  end if;
  return enrolment.enrolment_id = any (holder.ways)
    or agents.can_take_over(enrolment, holder)
    or agents.is_abandoned(holder);
end
$$;
comment on function agents.may_enter(text, agents.enrolments) is
  'Whether this enrolment may enrol an agent of this name, or could have the name.';

create function agents.enter_name(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  holder agents.names;
begin
  -- False also if the operator came first, while this transaction waited.
  if agents.claim_name(enter_name.agent_id, enrolment.enrolment_id) then
    return true;
  end if;
  -- Locked, so that nobody shares or takes over the name meanwhile.
  select * into holder from agents.names n where n.agent_id = enter_name.agent_id for update;
  if not agents.may_enter(enter_name.agent_id, enrolment) then
    return false;
  end if;
  if agents.can_take_over(enrolment, holder) then
    update agents.names n
    set ways = array(
      select w from unnest(n.ways) w where not starts_with(w, 'enr_')
    ) || enrolment.enrolment_id
    where n.agent_id = enter_name.agent_id;
    return true;
  end if;
  -- The locks of forget_holder's requests, and of the tags that the enrolment gives, come first.
  perform mesh.enter_policy(enrolment.tags);
  perform mesh.lock_agents(array[enter_name.agent_id]);
  perform agents.forget_holder(enter_name.agent_id);
  update agents.names n
  set ways = array[enrolment.enrolment_id],
    taken_at = clock_timestamp(),
    held_since = agents.present_transaction()
  where n.agent_id = enter_name.agent_id;
  return true;
end
$$;
comment on function agents.enter_name(text, agents.enrolments) is
  'Gives a name to this enrolment if may_enter says so, under end_access(agent_id). Returns '
  'whether it has the name.';

create function agents.name_by_key(enrolment agents.enrolments, agent_name text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  named constant text := case
    when enrolment.agent_template is null then agent_name
    else replace(enrolment.agent_template, '{agent_name}', agent_name)
  end;
begin
  if enrolment.agent_id is not null then
    return enrolment.agent_id;
  end if;
  if starts_with(named, enrolment.agent_prefix) and length(named) = length(enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must have something after the prefix."}]}';
  end if;
  if not starts_with(named, enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = json_build_object('issues', json_build_array(json_build_object(
        'path', 'agent_name', 'message', 'Must begin with ' || enrolment.agent_prefix || '.'
      )));
  end if;
  if not agents.is_agent_id(named) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must be shorter: the enrolment adds to it."}]}';
  end if;
  return named;
end
$$;
comment on function agents.name_by_key(agents.enrolments, text) is
  'Who an agent becomes that enrols by this enrolment key and asks for agent_name. Raises '
  'invalid_request.';

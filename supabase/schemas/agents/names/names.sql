-- Whose a name is. A name belongs to the way by which its agent first came: the operator, one
-- enrolment, or the project's users. Other ways in are refused until the operator hands the name
-- over (packages/operator/names/).

create table agents.names (
  agent_id agents.agent_id primary key,
  ways text[] collate "C" not null,
  taken_at timestamptz not null default clock_timestamp(),
  held_since xid8,

  constraint there_are_three_ways check (
    array_to_string(ways, ' ') ~ '^((operator|users|enr_[0-9a-f]{32})( |$))*$'
  )
);
comment on table agents.names is
  'The ways by which somebody can become an agent. The row stays as long as anything names the '
  'agent, so that nobody else gets what it had.';
comment on column agents.names.ways is
  'operator, users, or enrolment ids. Empty: the name is being taken over, and nobody can come in.';
comment on column agents.names.held_since is
  'The transaction in which the present holder took the name over from another one, whose events '
  'it does not see; null: there was no other one.';

create function agents.has_way(agent_id text, way text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce(
    (
      select has_way.way = any (n.ways)
      from agents.names n
      where n.agent_id = has_way.agent_id
    ),
    false
  );
end
$$;
comment on function agents.has_way(text, text) is
  'Whether a name belongs to a way in. False for a free name.';

create function agents.is_known(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (select from agents.names n where n.agent_id = is_known.agent_id);
end
$$;
comment on function agents.is_known(text) is
  'Whether anybody has had this name, as far as is remembered.';

create function agents.claim_name(agent_id text, way text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  if agents.has_way(claim_name.agent_id, claim_name.way) then
    return true;
  end if;
  -- Of two ways that come at the same time, the second waits here until the first has committed.
  insert into agents.names (agent_id, ways)
  values (claim_name.agent_id, array[claim_name.way])
  on conflict do nothing;
  return found or agents.has_way(claim_name.agent_id, claim_name.way);
end
$$;
comment on function agents.claim_name(text, text) is
  'Gives a free name to a way in. Returns whether the name now belongs to that way.';

create function agents.refuse_taken_name(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  raise sqlstate 'PT409' using
    message = 'agent_name_taken',
    detail = json_build_object('held_by', (
      select case when n.ways = '{}' then 'a take-over that is not finished' else array_to_string(n.ways, ', ') end
      from agents.names n
      where n.agent_id = refuse_taken_name.agent_id
    ));
end
$$;
comment on function agents.refuse_taken_name(text) is
  'Refuses the operator, who learns whose the name is. Raises agent_name_taken.';

create function agents.add_way(agent_id text, way text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  if agents.claim_name(add_way.agent_id, add_way.way) then
    return false;
  end if;
  update agents.names n
  -- An agent has one enrolment at a time.
  set ways = array(
    select w from unnest(n.ways) w
    where not (starts_with(add_way.way, 'enr_') and starts_with(w, 'enr_'))
  ) || add_way.way
  where n.agent_id = add_way.agent_id and n.ways <> '{}';
  if not found then
    perform agents.refuse_taken_name(add_way.agent_id);
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.shared', add_way.agent_id, null,
    jsonb_build_object('way', add_way.way)
  );
  return true;
end
$$;
comment on function agents.add_way(text, text) is
  'Hands a name over to another way in, which then shares it with the others; a free name belongs '
  'to it alone. An enrolment takes the place of an earlier one. Returns whether the name had '
  'another holder. Raises agent_name_taken while the name is being taken over.';

-- What the sweep does for enrolments: it ends ephemeral agents that lost contact, and deletes old
-- rows.

create function agents.last_contact(agent_id text, are_uses_written boolean) returns timestamptz
language sql
stable
set search_path = ''
as $$
  select greatest(
    (select a.enrolled_at from agents.enrolled_agents a where a.agent_id = last_contact.agent_id),
    (
      select max(greatest(k.first_used_at, u.last_used_at))
      from agents.keys k
      left join lateral (
        select i.last_used_at from agents.key_uses i where i.key_id = k.key_id limit 1
      ) u on true
      where k.agent_id = last_contact.agent_id
    ),
    (select l.last_seen from mesh.liveness l where l.agent_id = last_contact.agent_id),
    (
      select max(k.expires_at)
      from agents.keys k
      where not last_contact.are_uses_written
        and k.agent_id = last_contact.agent_id
        and k.revoked_at is null
        and k.first_used_at is not null
    )
  )
$$;
comment on function agents.last_contact(text, boolean) is
  'When an agent enrolled, last used a key, or was last seen in the mesh, whichever is latest, to '
  'about a minute. If uses are not written, an agent may have used its key until the key expires, '
  'so that time counts.';

create function agents.is_idle(agent_id text, use_written_seconds integer) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A waiting request is counted after up to 140 seconds, and the count is written some time later.
  slack constant interval := interval '3 minutes'
    + make_interval(secs => is_idle.use_written_seconds);
  ephemeral_after interval;
  next_due_at timestamptz;
begin
  select make_interval(secs => e.ephemeral_seconds) into ephemeral_after
  from agents.enrolled_agents a
  join agents.enrolments e on e.enrolment_id = a.enrolment_id
  where a.agent_id = is_idle.agent_id and a.ended_at is null and e.ephemeral_seconds is not null;
  if not found then
    return false;
  end if;
  next_due_at := agents.last_contact(is_idle.agent_id, is_idle.use_written_seconds > 0)
    + ephemeral_after + slack;
  update agents.enrolled_agents a
  set due_at = next_due_at
  where a.agent_id = is_idle.agent_id;
  return next_due_at <= clock_timestamp();
end
$$;
comment on function agents.is_idle(text, integer) is
  'Whether an ephemeral agent has been without contact for too long. Stores when to check it '
  'again. Call it under end_access(agent_id).';

create function agents.forget_names(max_entries integer) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended_id text;
  last_end timestamptz;
  forgotten_ids text[] := array[]::text[];
  tasks_per_agent constant integer := 2000;
begin
  for ended_id in
    select a.agent_id
    from agents.enrolled_agents a
    where a.ended_at is not null
      and greatest(a.ended_at, a.kept_until) < now() - interval '30 days'
    order by greatest(a.ended_at, a.kept_until)
    limit forget_names.max_entries
  loop
    -- An agent that is enrolling, or whose access is ending, is not forgotten now.
    continue when not pg_try_advisory_xact_lock(agents.access_lock(ended_id));
    last_end := agents.leads_until(ended_id);
    if last_end is not null or agents.is_remembered(ended_id) then
      update agents.enrolled_agents a
      -- What is far away may end earlier: a grant ends with its file.
      set kept_until = least(greatest(last_end, now()), now() + interval '60 days'),
        -- A revocation need not look at it.
        cut = case when last_end is null then 2 else a.cut end
      where a.agent_id = ended_id and a.ended_at is not null;
      continue;
    end if;
    -- If it has more, the next call goes on.
    continue when artifacts.release_tasks(ended_id, tasks_per_agent) = tasks_per_agent;
    -- A name that the operator or users share stays theirs.
    delete from agents.names n
    where n.agent_id = ended_id
      and not n.ways && '{operator,users}'
      and n.ways <> '{}'
      and exists (
        select from agents.enrolled_agents a where a.agent_id = ended_id and a.ended_at is not null
      );
    if found then
      perform agents.forget_holder(ended_id);
      forgotten_ids := forgotten_ids || ended_id;
    else
      update agents.enrolled_agents a
      set kept_until = now(), cut = 2
      where a.agent_id = ended_id and a.ended_at is not null;
    end if;
  end loop;
  perform mesh.rest_addresses(forgotten_ids);
end
$$;
comment on function agents.forget_names(integer) is
  'Forgets up to max_entries agents that ended 30 days ago, and to which nothing leads any more: no '
  'artifact, grant, tag, rule, event or count. The others are looked at again after 30 to 90 days.';

create function public.agent_api_forget_enrolled(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  most_idle constant integer := least(agent_api_forget_enrolled.max_entries, 200);
begin
  perform agents.authenticate_operator(agent_api_forget_enrolled.caller);
  -- Keep tokens for a minute after they expire, because clocks may differ by that much.
  delete from agents.used_tokens u
  -- Found by ctid, which cannot change while the row is locked. Otherwise the planner, which does
  -- not know the number of rows, may read the whole table.
  where u.ctid = any (array(
    select o.ctid
    from agents.used_tokens o
    where o.expires_at < now() - interval '1 minute'
    order by o.expires_at
    limit agent_api_forget_enrolled.max_entries
    for update skip locked
  ));
  -- Within a day, the older of two clones learns that it is superseded.
  delete from agents.keys k
  where k.key_id = any (array(
    select o.key_id
    from agents.keys o
    where o.enrolment_id is not null and o.expires_at < now() - interval '1 day'
    order by o.expires_at
    limit agent_api_forget_enrolled.max_entries
    for update skip locked
  ));
  perform agents.forget_names(most_idle);
  delete from agents.enrolment_refusals r where r.minute < now() - interval '1 day';
  return json_build_object(
    'idle', (
      select coalesce(json_agg(d.agent_id), '[]')
      from (
        select a.agent_id
        from agents.enrolled_agents a
        where a.due_at <= now() and a.ended_at is null
        order by a.due_at
        limit most_idle
      ) d
    ),
    'remaining', (
      select count(*)
      from (
        (
          select from agents.used_tokens u
          where u.expires_at < now() - interval '1 minute'
          order by u.expires_at
          limit 1000
        )
        union all
        (
          select from agents.keys k
          where k.enrolment_id is not null and k.expires_at < now() - interval '1 day'
          order by k.expires_at
          limit 1000
        )
        union all
        (
          select from agents.enrolled_agents a
          where a.due_at <= now() and a.ended_at is null
          order by a.due_at
          offset most_idle
          limit 1000
        )
        union all
        -- Those that forget_names has looked at are not due any more.
        (
          select from agents.enrolled_agents a
          where a.ended_at is not null
            and greatest(a.ended_at, a.kept_until) < now() - interval '30 days'
          order by greatest(a.ended_at, a.kept_until)
          limit 1000
        )
      ) later
    )
  );
end
$$;
comment on function public.agent_api_forget_enrolled(jsonb, integer) is
  'Deletes what enrolments leave behind: expired tokens and keys, and the names of agents that '
  'ended 30 days ago and have left nothing. Returns {idle: [agent_id], remaining}: idle are at most 200 ephemeral agents '
  'that agent_api_end_idle_agent must check. Raises forbidden for an agent.';

create function public.agent_api_end_idle_agent(
  caller jsonb,
  agent_id text,
  use_written_seconds integer default 60
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(agent_api_end_idle_agent.caller);
  -- Waits until the agent's running writes are done; is_idle then sees them.
  perform agents.end_access(agent_api_end_idle_agent.agent_id);
  if not agents.is_idle(agent_api_end_idle_agent.agent_id, agent_api_end_idle_agent.use_written_seconds) then
    return json_build_object('ended', 0);
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_end_idle_agent.agent_id));
  perform public.agent_api_remove_peer(agent_api_end_idle_agent.caller, agent_api_end_idle_agent.agent_id);
  perform agents.end_keys(agent_api_end_idle_agent.caller, null, agent_api_end_idle_agent.agent_id);
  perform agents.end_enrolled_tags(agent_api_end_idle_agent.caller, agent_api_end_idle_agent.agent_id);
  perform agents.record_event(
    agent_api_end_idle_agent.caller, null, 'agent.expired', agent_api_end_idle_agent.agent_id
  );
  return json_build_object('ended', 1);
end
$$;
comment on function public.agent_api_end_idle_agent(jsonb, text, integer) is
  'Ends the keys, the peer and the rules of an ephemeral agent without contact; otherwise stores '
  'when to check it again. use_written_seconds is how often the functions write uses; 0: never. '
  'Its files and grants stay until their own end. {ended: 1 | 0}. Raises forbidden for an agent.';

-- What an agent that has ended leaves under its name, and how a name gets another holder, who
-- inherits nothing.

create function agents.leads_until(agent_id text) returns timestamptz
language plpgsql
stable
set search_path = ''
as $$
declare
  last_end timestamptz;
begin
  -- The end of what is farthest away: one index lookup each.
  last_end := greatest(
    (
      select max(g.live_until)
      from artifacts.grants g
      where g.from_agent = leads_until.agent_id
    ),
    (
      select max(g.live_until)
      from artifacts.grants g
      where g.grantee = leads_until.agent_id
    ),
    (
      select max(s.live_until)
      from artifacts.standing_grants s
      where s.from_agent = leads_until.agent_id
    ),
    (
      select max(s.live_until)
      from artifacts.standing_grants s
      where s.grantee = leads_until.agent_id
    ),
    (
      select max(a.expires_at)
      from artifacts.artifacts a
      where a.agent_id = leads_until.agent_id and a.state <> 'deleted' and a.ended_at is null
    )
  );
  if last_end is null and (
    agents.holds_something(leads_until.agent_id)
    or exists (
      select
      from artifacts.artifacts a
      where a.agent_id = leads_until.agent_id and (a.state = 'deleted' or a.ended_at is not null)
    )
    or exists (
      select from artifacts.agent_limits l where l.agent_id = leads_until.agent_id
    )
    or exists (
      select
      from agents.keys k
      where k.agent_id = leads_until.agent_id and k.revoked_at is null
    )
  ) then
    last_end := now();
  end if;
  return last_end;
end
$$;
comment on function agents.leads_until(text) is
  'When the last thing ends that an agent left, as far as is known: artifacts and their tombstones, '
  'grants that it gave or received, keys, tags, limits, a peer, rules, lines of the policy. Null: it '
  'has left nothing.';

create function agents.is_remembered(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- The first name from this one on: one index lookup each. If nearly all events name one agent, an
  -- equation reads the whole log for another.
  return is_remembered.agent_id in (
      (select min(e.subject_agent_id) from agents.events e where e.subject_agent_id >= is_remembered.agent_id),
      (select min(e.other_agent_id) from agents.events e where e.other_agent_id >= is_remembered.agent_id),
      (
        select min(e.actor_agent_id)
        from agents.events e
        where e.actor_agent_id >= is_remembered.agent_id and e.actor_agent_id <> e.subject_agent_id
      )
    ) is true
    or exists (select from agents.usage u where u.agent_id = is_remembered.agent_id);
end
$$;
comment on function agents.is_remembered(text) is
  'Whether the log of events or the counts still name an agent.';

create function agents.forget_holder(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- One index per statement: a condition on either column reads the whole table.
  delete from artifacts.blocked_senders b where b.agent_id = forget_holder.agent_id;
  -- A range of one value: if most agents block one sender, the planner expects as many rows for any
  -- other one, and an equation reads the whole table.
  delete from artifacts.blocked_senders b
  where b.from_agent between forget_holder.agent_id and forget_holder.agent_id;
  -- The callers have released most of them, in bounded steps.
  perform artifacts.release_tasks(forget_holder.agent_id, null);
  delete from artifacts.agent_limits l where l.agent_id = forget_holder.agent_id;
  delete from artifacts.spent_versions s where s.agent_id = forget_holder.agent_id;
  delete from artifacts.totals t
  where t.agent_id = forget_holder.agent_id
    and (t.pending, t.committed, t.superseded, t.grants, t.surplus_bytes) = (0, 0, 0, 0, 0);
  delete from agents.changed_things t where t.actor = forget_holder.agent_id;
  delete from mesh.declined_requests d where d.from_agent = forget_holder.agent_id;
  delete from mesh.declined_requests d where d.to_agent = forget_holder.agent_id;
  delete from agents.enrolled_agents a where a.agent_id = forget_holder.agent_id;
  delete from agents.former_holders f where f.agent_id = forget_holder.agent_id;
  perform artifacts.count_for_enrolment(forget_holder.agent_id);
end
$$;
comment on function agents.forget_holder(text) is
  'Deletes what would pass from one holder of a name to the next, after everything else has ended. '
  'Call it under end_access(agent_id), and rest_addresses after it.';

create function mesh.rest_addresses(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- The addresses rest under a name that nobody has, so that hosts with an older configuration do
  -- not take the next holder for the former one. The public key may return.
  update mesh.address_leases l
  set agent_id = 'rested-' || replace(gen_random_uuid()::text, '-', ''), resting_pubkey = null
  where l.agent_id = any (rest_addresses.agent_ids) and l.released_at is not null;
end
$$;
comment on function mesh.rest_addresses(text[]) is
  'Keeps the released addresses of former holders of names from the next ones. Call it after '
  'everything that locks config_versions.';

-- Erasing an agent: whatever names it is deleted, or names a pseudonym instead.

-- The tombstones of an agent. Only an erasure looks for them. Each artifact that ends adds one
-- entry.
create index ended_artifacts_by_agent on artifacts.artifacts (agent_id, artifact_id)
  where state = 'deleted' or ended_at is not null;

create function agents.erase_counted(name text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  settled agents.reads;
  due agents.repeated_changes;
  reads integer := 0;
  changes integer := 0;
begin
  -- The events of counted reads and changes are written first, and then erased with the other
  -- events.
  for settled in
    delete from agents.reads r
    -- Found by ctid, which cannot change while the row is locked.
    where r.ctid = any (array(
      select d.ctid
      from agents.reads d
      where name in (d.reader, d.subject_agent_id, d.other_agent_id)
      order by d.told_at
      limit max_entries
      for update
    ))
    returning r.*
  loop
    perform agents.tell_reads(settled);
    reads := reads + 1;
  end loop;
  for due in
    delete from agents.repeated_changes c
    where c.ctid = any (array(
      select d.ctid
      from agents.repeated_changes d
      where name in (d.actor, d.subject_agent_id, d.other_agent_id)
      order by d.due_at
      limit max_entries
      for update
    ))
    returning c.*
  loop
    if due.untold > 0 then
      due.told_times := due.untold;
      perform agents.record_repeated(
        due, null, jsonb_build_object('last_at', agents.iso_timestamp(due.last_at))
      );
    end if;
    changes := changes + 1;
  end loop;
  delete from agents.changed_things t where t.actor = name;
  return greatest(reads, changes);
end
$$;
comment on function agents.erase_counted(text, integer) is
  'Deletes up to max_entries rows each of the reads and of the changes that were counted about an '
  'agent, and writes the events that these rows had not reported yet. Returns the larger number.';

create function agents.erase_rows(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  grant_ids constant text[] := array(
    (select g.grant_id from artifacts.grants g where g.from_agent = name
      order by g.from_agent, g.live_until limit max_entries)
    union
    (select g.grant_id from artifacts.grants g where g.grantee = name
      order by g.grantee, g.live_until limit max_entries)
  );
  erased integer;
  most integer := 0;
begin
  -- Lock artifacts first, as in every function that ends several grants of one artifact.
  perform from artifacts.artifacts a
  where a.artifact_id in (select g.artifact_id from artifacts.grants g where g.grant_id = any (grant_ids))
  order by a.artifact_id
  for update;
  delete from artifacts.grants g where g.grant_id = any (grant_ids);
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  most := greatest(most, artifacts.erase_tasks(name, pseudonym, max_entries));
  most := greatest(most, artifacts.erase_standing(name, max_entries));
  -- The row stays until the sweep has removed its bytes, because it says where they are. A digest
  -- would tell whoever has the same file that the agent had it.
  update artifacts.artifacts a
  set agent_id = pseudonym, key = 'erased', mime = 'application/octet-stream', sha256 = null,
    metadata = null, version = null
  where a.artifact_id = any (array(
    select e.artifact_id
    from artifacts.artifacts e
    where e.agent_id = name and (e.state = 'deleted' or e.ended_at is not null)
    order by e.agent_id, e.artifact_id
    limit max_entries
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  delete from artifacts.spent_versions s
  where s.agent_id = name and s.key_hash in (
    select d.key_hash from artifacts.spent_versions d
    where d.agent_id = name order by d.agent_id, d.key_hash limit max_entries
  );
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  update agents.usage u
  set agent_id = pseudonym
  where u.agent_id = name and u.day in (
    select d.day from agents.usage d where d.agent_id = name order by d.day limit max_entries
  );
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  update agents.refusals f
  set agent_id = pseudonym
  where f.agent_id = name and (f.hour, f.kind) in (
    select d.hour, d.kind from agents.refusals d where d.agent_id = name order by d.hour limit max_entries
  );
  get diagnostics erased = row_count;
  return greatest(most, erased);
end
$$;
comment on function agents.erase_rows(text, text, integer) is
  'Erases up to max_entries rows of each kind that can be very numerous; returns the '
  'largest number of one kind.';

create function agents.lock_enrolments_naming(name text) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  named_ids constant text[] := array(
    select e.enrolment_id
    from agents.enrolments e
    where e.agent_id = name
      or e.label ~ agents.pattern_of_name(name)
      or agents.has_ended(e) and agents.proofs_name(e, name)
  );
  lock_key bigint;
begin
  for lock_key in
    select distinct agents.enrolment_lock(i.enrolment_id) from unnest(named_ids) as i (enrolment_id)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
  return named_ids;
end
$$;
comment on function agents.lock_enrolments_naming(text) is
  'Locks the enrolments that an erasure changes or deletes, and returns their ids. Call it before '
  'end_access: enrolling and revoking take an enrolment''s lock, and then that of an agent.';

create function agents.erase_few(name text, pseudonym text, locked_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from agents.keys k where k.agent_id = name;
  update agents.keys k
  set label = regexp_replace(k.label, agents.pattern_of_name(name), pseudonym, 'g')
  where k.label ~ agents.pattern_of_name(name);
  delete from agents.enrolled_agents a where a.agent_id = name;
  delete from agents.former_holders f where f.agent_id = name;
  perform artifacts.count_for_enrolment(name);
  delete from agents.names n where n.agent_id = name;
  delete from artifacts.enrolment_totals t
  where t.enrolment_id = any (locked_ids)
    and t.enrolment_id in (select e.enrolment_id from agents.enrolments e where e.agent_id = name);
  -- Such an enrolment is for this agent alone, and would bring the name back.
  delete from agents.enrolments e where e.agent_id = name and e.enrolment_id = any (locked_ids);
  update agents.enrolments e
  set label = regexp_replace(e.label, agents.pattern_of_name(name), pseudonym, 'g')
  where e.label ~ agents.pattern_of_name(name) and e.enrolment_id = any (locked_ids);
  -- Only ended enrolments. In live ones, the name decides who enrols, so they stay:
  -- enrolments_deciding_by lists them.
  update agents.enrolments e
  set issuer = regexp_replace(e.issuer, agents.pattern_of_name(name), pseudonym, 'g'),
    audience = regexp_replace(e.audience, agents.pattern_of_name(name), pseudonym, 'g'),
    agent_template = regexp_replace(e.agent_template, agents.pattern_of_name(name), pseudonym, 'g'),
    agent_prefix = regexp_replace(e.agent_prefix, agents.pattern_of_name(name), pseudonym, 'g'),
    conditions = regexp_replace(e.conditions::text, agents.pattern_of_name(name), pseudonym, 'g')::jsonb,
    jwks = regexp_replace(e.jwks::text, agents.pattern_of_name(name), pseudonym, 'g')::jsonb
  where agents.has_ended(e) and agents.proofs_name(e, name) and e.enrolment_id = any (locked_ids);
  perform agents.erase_from_webhooks(name, pseudonym);
  delete from artifacts.blocked_senders b where name in (b.agent_id, b.from_agent);
  delete from artifacts.agent_limits l where l.agent_id = name;
  delete from artifacts.totals t
  where t.agent_id = name
    and (t.pending, t.committed, t.superseded, t.grants, t.surplus_bytes) = (0, 0, 0, 0, 0);
  delete from mesh.declined_requests d where name in (d.from_agent, d.to_agent);
  -- The addresses stay reserved, like those of every removed peer. A census that continues after
  -- this agent begins again.
  update mesh.address_leases l
  set agent_id = pseudonym, resting_pubkey = null
  where l.agent_id = name and l.released_at is not null;
  delete from mesh.config_versions v where v.agent_id = name;
  delete from mesh.censuses c where c.after_agent = name;
end
$$;
comment on function agents.erase_few(text, text, text[]) is
  'Erases an agent from the tables that have few rows of it. An enrolment that is not locked is '
  'left for the next call.';

create function public.agent_api_erase_agent(
  agent_id text,
  pseudonym text default null,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  chosen constant text := coalesce(
    agent_api_erase_agent.pseudonym, 'erased-' || replace(gen_random_uuid()::text, '-', '')
  );
  locked_ids text[];
  most integer;
  erased_events integer;
  mentions jsonb;
  is_complete boolean;
begin
  if agents.is_pseudonym(agent_api_erase_agent.agent_id) or not agents.is_pseudonym(chosen) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be an agent, and not a pseudonym."}]}';
  end if;
  perform artifacts.refuse_versions();
  locked_ids := agents.lock_enrolments_naming(agent_api_erase_agent.agent_id);
  -- From here on, the agent can write nothing. Its earlier writes are finished, and will be erased.
  perform public.agent_api_remove_agent(agent_api_erase_agent.agent_id, false, agent_api_erase_agent.max_entries);
  -- The policy's file would keep the name, and only the operator can change that file.
  if agents.policy_contains(agent_api_erase_agent.agent_id) then
    raise sqlstate 'PT409' using
      message = 'policy_rule',
      hint = 'The policy names this agent, in a rule, a test or a comment. Apply one that does not, then erase it.';
  end if;
  if agent_api_erase_agent.pseudonym is null then
    -- For a record outside the database: after a restore, the agent is erased again by it.
    perform agents.record_event(
      '{"kind": "operator"}', null, 'name.erased', null, null,
      -- Not the pseudonym: no row leads from it to the name, nor to what a name can be tested with.
      jsonb_build_object('name_hash', encode(agents.hash_of_name(agent_api_erase_agent.agent_id), 'hex'))
    );
  end if;
  perform agents.erase_counted(agent_api_erase_agent.agent_id, agent_api_erase_agent.max_entries);
  most := agents.erase_rows(agent_api_erase_agent.agent_id, chosen, agent_api_erase_agent.max_entries);
  perform agents.erase_few(agent_api_erase_agent.agent_id, chosen, locked_ids);
  erased_events := agents.erase_from_events(agent_api_erase_agent.agent_id, chosen, agent_api_erase_agent.max_entries);

  -- The row of the removal is the last one with the name. Its place takes a hash, so that the agent
  -- stays out.
  mentions := agents.count_mentions(agent_api_erase_agent.agent_id);
  is_complete := greatest(most, erased_events) < agent_api_erase_agent.max_entries
    and mentions ->> 'others' = '1'
    and not exists (
      select from jsonb_each_text(mentions) m where m.key <> 'others' and m.value <> '0'
    )
    and not exists (select from agents.events e where e.subject_agent_id = agent_api_erase_agent.agent_id)
    and not exists (select from agents.events e where e.other_agent_id = agent_api_erase_agent.agent_id)
    and not exists (
      select from agents.events e
      where e.actor_agent_id = agent_api_erase_agent.agent_id and e.actor_agent_id <> e.subject_agent_id
    );
  if is_complete then
    insert into agents.erased_names (name_hash)
    values (agents.hash_of_name(agent_api_erase_agent.agent_id))
    on conflict do nothing;
    delete from agents.removed_agents r where r.agent_id = agent_api_erase_agent.agent_id;
  end if;
  return json_build_object(
    'pseudonym', chosen,
    'events', erased_events,
    'remaining', not is_complete,
    'ended_before', pg_snapshot_xmax(pg_current_snapshot())
  );
end
$$;
comment on function public.agent_api_erase_agent(text, text, integer) is
  'Removes an agent and erases its name: agent keys, grants, peer, rules and requests are deleted; '
  'events, usage, refusals, addresses and the rows of its files, whose bytes the next sweeps '
  'remove, name a random pseudonym instead. A keyed hash of the name keeps the agent out until '
  'agent_api_readmit_agent. At most max_entries of each per call: while remaining '
  'is true, call it again with the pseudonym of the answer. Once every transaction below '
  'ended_before has ended, agent_api_count_mentions says whether somebody named it meanwhile. '
  'Raises invalid_request, policy_rule while the policy names the agent, and misconfigured while '
  'the bucket keeps versions: no sweep can remove the bytes.';

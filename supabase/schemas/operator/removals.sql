-- Removing an agent: ends everything that gives it access, or by which it gives access.

create function agents.end_grants_named(live_ids text[]) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  revoked_count integer;
begin
  -- Lock artifacts first, as in every function that ends several grants of one artifact.
  perform from artifacts.artifacts a
  where a.artifact_id in (select g.artifact_id from artifacts.grants g where g.grant_id = any (live_ids))
  order by a.artifact_id
  for update;

  with revoked as (
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where g.grant_id = any (live_ids) and g.live_until > clock_timestamp()
    returning g.*
  ), recorded as (
    select agents.record_event(
      '{"kind": "operator"}', null, 'grant.revoked', r.to_agent, r.grant_id,
      jsonb_build_object(
        'artifact_id', r.artifact_id,
        'key', (select a.key from artifacts.artifacts a where a.artifact_id = r.artifact_id)
      ) || artifacts.tag_of_grant(r),
      r.from_agent
    )
    from revoked r
  )
  select count(*) into revoked_count from recorded;
  return revoked_count;
end
$$;
comment on function agents.end_grants_named(text[]) is
  'Ends these grants; returns how many were live.';

create function agents.end_grants(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  checked_at timestamptz := clock_timestamp();
  live_ids text[];
begin
  -- In the order of an index, so that this reads only the grants that it ends.
  live_ids := array(
    (
      select g.grant_id
      from artifacts.grants g
      where g.grantee = end_grants.agent_id and g.live_until > checked_at
      order by g.grantee, g.live_until
      limit end_grants.max_entries
    )
    union
    (
      select g.grant_id
      from artifacts.grants g
      where g.from_agent = end_grants.agent_id and g.live_until > checked_at
      order by g.from_agent, g.live_until
      limit end_grants.max_entries
    )
    limit end_grants.max_entries
  );
  return agents.end_grants_named(live_ids);
end
$$;
comment on function agents.end_grants(text, integer) is
  'Ends up to max_entries live grants from and to an agent; returns how many.';

create function agents.end_artifacts(agent_id text, only_pending boolean, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  held_ids text[];
  deleted_ids text[];
  deleted_id text;
begin
  -- Artifacts without expires_at are pending. In the order of an index, so that this reads only the
  -- artifacts that it ends.
  if end_artifacts.only_pending then
    held_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = end_artifacts.agent_id
        and a.expires_at is null
        and a.state <> 'deleted'
        and a.ended_at is null
      order by a.agent_id, a.expires_at
      limit end_artifacts.max_entries
    );
  else
    held_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = end_artifacts.agent_id and a.state <> 'deleted' and a.ended_at is null
      order by a.agent_id, a.expires_at
      limit end_artifacts.max_entries
    );
  end if;
  perform from artifacts.artifacts a
  where a.artifact_id = any (held_ids)
  order by a.artifact_id
  for update;

  with deleted as (
    update artifacts.artifacts a
    set state = 'deleted', deleted_at = clock_timestamp()
    where a.artifact_id = any (held_ids)
      and a.state <> 'deleted'
      and a.ended_at is null
      and (a.state = 'pending' or not end_artifacts.only_pending)
    returning a.*
  ), recorded as (
    select d.artifact_id, agents.record_event(
      '{"kind": "operator"}', null, 'artifact.deleted', d.agent_id, d.artifact_id,
      jsonb_build_object('key', d.key)
    )
    from deleted d
  )
  select coalesce(array_agg(r.artifact_id), '{}') into deleted_ids from recorded r;
  -- A running commit loses its lease, so it can give no verdict. One index lookup per artifact.
  foreach deleted_id in array deleted_ids loop
    delete from artifacts.verifications v where v.artifact_id = deleted_id;
  end loop;
  return cardinality(deleted_ids);
end
$$;
comment on function agents.end_artifacts(text, boolean, integer) is
  'Deletes up to max_entries artifacts of an agent, as /delete does, or only the pending ones; '
  'returns how many.';

create function public.agent_api_remove_agent(
  agent_id text,
  keep_artifacts boolean default false,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  is_newly_removed boolean;
  revoked_keys integer;
  peer_removed boolean;
  revoked_grants integer;
  deleted_artifacts integer;
  released_tasks integer;
  ended_standing integer;
begin
  perform agents.end_access(agent_api_remove_agent.agent_id);
  perform mesh.enter_policy(agents.tags_of(agent_api_remove_agent.agent_id));
  insert into agents.removed_agents (agent_id) values (agent_api_remove_agent.agent_id) on conflict do nothing;
  is_newly_removed := found;
  revoked_keys := (public.agent_api_revoke_agent_keys(agent_api_remove_agent.agent_id) ->> 'revoked')::integer;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = agent_api_remove_agent.agent_id and a.ended_at is null;
  peer_removed := (public.agent_api_remove_peer(operator, agent_api_remove_agent.agent_id) ->> 'removed')::boolean;
  -- The grants may belong to artifacts of many agents.
  perform artifacts.lock_sweep();
  ended_standing := artifacts.end_standing_of(
    agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries
  );
  revoked_grants := agents.end_grants(agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries);
  deleted_artifacts := agents.end_artifacts(
    agent_api_remove_agent.agent_id, agent_api_remove_agent.keep_artifacts,
    agent_api_remove_agent.max_entries
  );
  released_tasks := artifacts.release_tasks(agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries);
  delete from artifacts.blocked_senders b where b.agent_id = agent_api_remove_agent.agent_id;
  perform agents.replace_tags(operator, agent_api_remove_agent.agent_id, '{}');
  delete from artifacts.agent_limits l where l.agent_id = agent_api_remove_agent.agent_id;
  delete from agents.changed_things t where t.actor = agent_api_remove_agent.agent_id;

  if is_newly_removed or peer_removed or revoked_keys + revoked_grants + deleted_artifacts + ended_standing > 0 then
    perform agents.record_event(
      operator, null, 'agent.removed', agent_api_remove_agent.agent_id, null,
      jsonb_build_object('keep_artifacts', agent_api_remove_agent.keep_artifacts)
    );
  end if;
  return json_build_object(
    'agent_id', agent_api_remove_agent.agent_id,
    'keys', revoked_keys,
    'peer', peer_removed,
    'grants', revoked_grants,
    'artifacts', deleted_artifacts,
    'remaining',
    greatest(revoked_grants, deleted_artifacts, released_tasks, ended_standing)
      >= agent_api_remove_agent.max_entries
  );
end
$$;
comment on function public.agent_api_remove_agent(text, boolean, integer) is
  'Ends, in one transaction, an agent''s keys, its peer with rules, requests and PSKs, the grants '
  'from and to it, its pending uploads and, unless they are kept, its artifacts. What it has taken '
  'waits for other agents again. Users who are '
  'that agent are refused from then on, until agent_api_readmit_agent. Ends at most max_entries '
  'grants, as many artifacts and as many tasks, so that no agent holds too much for one call: '
  'while remaining is true, call it again. Returns how many of each it ended. Idempotent.';

-- Signs that this database was restored from a backup and agent_api_after_restore was not called
-- since, for `agentops doctor`; and what `agentops restore after` lists.

create function public.agent_api_find_restore_signs(
  rendering_revision integer,
  max_entries integer
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with revision as (
    -- After a rollback of the functions, hosts have received higher versions than now.
    select greatest(agent_api_find_restore_signs.rendering_revision, max(l.rendering_revision_highest)) as highest
    from mesh.liveness l
  ), ahead as (
    select l.agent_id, l.config_version_highest,
      v.version + agent_api_find_restore_signs.rendering_revision as config_version
    from mesh.liveness l
    join mesh.config_versions v on v.agent_id = l.agent_id
    cross join revision r
    where l.config_version_highest > v.version + r.highest and not v.has_false_reports
    order by l.agent_id
    limit agent_api_find_restore_signs.max_entries
  ), found as (
    -- Only /commit stores sealed objects, and it writes the row first. Object names are random, so
    -- the first 2000 objects of a larger bucket are a sample.
    select j.object_name, j.stored_at
    from artifacts.judge_objects('sealed/', artifacts.end_of_folder('sealed/'), 2000) j
    where j.standing = 'unknown' and not j.is_pending
    union
    -- Orphans, uploads too, that the sweep found when they were 14 days old.
    select o.object_name, s.created_at
    from artifacts.orphans o
    cross join lateral (
      select i.created_at from artifacts.current_objects i where i.name collate "C" = o.object_name limit 1
    ) s
  ), unknown as (
    select f.object_name, f.stored_at
    from found f
    -- agent_api_after_restore has already reported the objects from before the epoch began.
    where f.stored_at > (select e.begun_at from agents.epochs e)
    order by f.object_name
    limit agent_api_find_restore_signs.max_entries
  )
  select json_build_object(
    'epoch', e.epoch,
    'begun_at', agents.iso_timestamp(e.begun_at),
    'newest_event_at', (
      select agents.iso_timestamp(n.occurred_at) from agents.events n order by n.event_id desc limit 1
    ),
    -- True if a dump was restored into another cluster.
    'is_ahead_of_its_transactions', coalesce(
      (
        select n.transaction_id > pg_snapshot_xmax(agents.present_snapshot())
        from agents.events n
        order by n.transaction_id desc, n.event_id desc
        limit 1
      ),
      false
    ),
    'peers_ahead', (
      select coalesce(
        json_agg(
          json_build_object(
            'agent_id', a.agent_id,
            'config_version_highest', a.config_version_highest,
            'config_version', a.config_version
          )
          order by a.agent_id
        ),
        '[]'
      )
      from ahead a
    ),
    'unknown_objects', (
      select coalesce(
        json_agg(
          json_build_object('path', u.object_name, 'stored_at', agents.iso_timestamp(u.stored_at))
          order by u.object_name
        ),
        '[]'
      )
      from unknown u
    )
  )
  from agents.epochs e
$$;
comment on function public.agent_api_find_restore_signs(integer, integer) is
  'Signs that the database is older than what agents and Storage have seen: {epoch, begun_at, '
  'newest_event_at | null, is_ahead_of_its_transactions: it has events of transactions in the '
  'future, peers_ahead: [{agent_id, config_version_highest, config_version}] of hosts that have '
  'reported a later configuration than the current one, except those with has_false_reports, '
  'unknown_objects: [{path, stored_at}] that belong to no artifact}, at most max_entries of each.';

create function public.agent_api_list_live_keys(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select k.key_id, k.agent_id, k.label, k.created_at,
      k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) as is_live
    from agents.keys k
    where k.key_id > agent_api_list_live_keys.after
    order by k.key_id
    limit agent_api_list_live_keys.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object(
          'key_id', e.key_id,
          'agent_id', e.agent_id,
          'label', e.label,
          'created_at', agents.iso_timestamp(e.created_at),
          'last_used_at', (
            select agents.iso_timestamp(u.last_used_at)
            from agents.key_uses u
            where u.key_id = e.key_id
          )
        )
        order by e.key_id
      ) filter (where e.is_live),
      '[]'
    ),
    'next', case when count(*) = agent_api_list_live_keys.max_entries then max(e.key_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_live_keys(integer, text) is
  'The live agent keys among the max_entries keys after the given id: {found: [{key_id, agent_id, '
  'label | null, created_at, last_used_at | null}], next: where the next page begins | null}.';

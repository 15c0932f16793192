-- Requests that wait for something to happen. Once a second, a function's process asks which of its
-- waiting requests have news. Those requests then query their answer normally.

create function artifacts.has_new_grant(agent_id text, from_agent text, since pg_snapshot) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return (
    with later as (
      select l.*
      from artifacts.grantees_of(has_new_grant.agent_id, has_new_grant.since) h
      cross join lateral (
        select g.from_agent, g.artifact_id, g.live_until,
          not pg_visible_in_snapshot(g.transaction_id, has_new_grant.since) as is_new
        from unnest(h.grantees) as e (grantee)
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until, g.transaction_id
          from artifacts.grants g
          where g.grantee = e.grantee
            and g.transaction_id >= pg_snapshot_xmin(has_new_grant.since)
          order by g.grantee, g.transaction_id
          limit 1000
        ) g
        union all
        -- A tag that the agent got since then makes all live grants to that tag new.
        select g.from_agent, g.artifact_id, g.live_until, true
        from unnest(h.gained) as e (grantee)
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until
          from artifacts.grants g
          where g.grantee = e.grantee and g.live_until > now()
          order by g.grantee, g.live_until
          limit 1000
        ) g
        union all
        -- Tasks that wait again.
        select g.from_agent, g.artifact_id, g.live_until,
          not pg_visible_in_snapshot(t.waits_again_since, has_new_grant.since)
        from unnest(artifacts.queues_of(has_new_grant.agent_id)) as q (queue)
        cross join lateral (
          select t.grant_id, t.waits_again_since
          from artifacts.tasks t
          where t.queue = q.queue
            and t.waits_again_since >= pg_snapshot_xmin(has_new_grant.since)
          order by t.queue, t.waits_again_since
          limit 1000
        ) t
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until
          from artifacts.grants g
          where g.grant_id = t.grant_id
          limit 1
        ) g
      ) l
      limit 1000
    )
    select (select count(*) from later) = 1000 or exists (
      select
      from later g
      cross join lateral (
        select a.state, a.expires_at from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
      ) a
      where g.is_new
        and g.from_agent = coalesce(has_new_grant.from_agent, g.from_agent)
        and g.live_until > now()
        and a.state in ('committed', 'superseded')
        and a.expires_at > now()
        and not artifacts.is_blocked(has_new_grant.agent_id, g.from_agent)
    )
  );
end
$$;
comment on function artifacts.has_new_grant(text, text, pg_snapshot) is
  'Whether an inbox shows a grant that it did not show in a snapshot, or one whose task waits again '
  'since. Also true once this has read 1000 grants, because a new one may follow them.';

create function mesh.has_other_version(agent_id text, version bigint) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return not exists (
    select
    from mesh.config_versions v
    where v.agent_id = has_other_version.agent_id
      and v.version = has_other_version.version
      and exists (select from mesh.peers p where p.agent_id = v.agent_id)
  );
end
$$;
comment on function mesh.has_other_version(text, bigint) is
  'Whether an agent''s configuration no longer has this version, or its peer is gone.';

create function agents.is_in_feeds(action text) returns boolean
language sql
immutable
return split_part(is_in_feeds.action, '.', 1) in ('artifact', 'grant', 'task', 'rule', 'peer', 'psk');
comment on function agents.is_in_feeds(text) is
  'Whether /events of one of the functions shows events of this type.';

create function agents.has_new_event(agent_id text, types text[], after text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select
      count(*) = 1000
      or coalesce(
        bool_or(
          case
            when has_new_event.types is null then agents.is_in_feeds(e.action)
            else e.action = any (has_new_event.types)
          end
          and agents.is_shown(e, has_new_event.agent_id)
        ),
        false
      )
    from agents.events_after(
      has_new_event.agent_id,
      split_part(has_new_event.after, '.', 1)::xid8,
      split_part(has_new_event.after, '.', 2)::bigint,
      1000
    ) e
  );
end
$$;
comment on function agents.has_new_event(text, text[], text) is
  'Whether there is an event of these types (null: that a feed shows) for an agent (null: for any '
  'agent) after a position. Also true once this has read 1000 events of any type, because one of '
  'these types may follow them.';

-- Almost every wait has nothing new. The following two find that out in 10 to 60 microseconds. The
-- two above take 300 to 600. They return a table, because PostgreSQL inlines no other function with
-- a subquery.

create function artifacts.may_have_new_grant(agent_id text, since pg_snapshot)
returns table (is_possible boolean)
language sql
stable
begin atomic
  -- A transaction that the snapshot does not contain is at least as new as its oldest one.
  select exists (
      select from artifacts.grants g
      where g.grantee = may_have_new_grant.agent_id
        and g.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
    )
    or exists (
      select from agents.agent_tags t
      where t.agent_id = may_have_new_grant.agent_id
        and (
          t.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
          or exists (
            select from artifacts.grants g
            where g.grantee = artifacts.grantee(null, t.tag)
              and g.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
          )
          or exists (
            select from artifacts.tasks k
            where k.queue = '#' || t.tag
              and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
          )
          or exists (
            select from artifacts.tasks k
            where k.queue = may_have_new_grant.agent_id || '#' || t.tag
              and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
          )
        )
    )
    or exists (
      select from artifacts.tasks k
      where k.queue = may_have_new_grant.agent_id
        and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
    );
end;
comment on function artifacts.may_have_new_grant(text, pg_snapshot) is
  'False only where has_new_grant is false.';

create function agents.may_have_new_event(agent_id text, place text)
returns table (is_possible boolean)
language sql
stable
begin atomic
  select may_have_new_event.agent_id is null
    or exists (
      select from agents.events e
      where e.subject_agent_id = may_have_new_event.agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
    or exists (
      select from agents.events e
      where e.other_agent_id = may_have_new_event.agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
    or exists (
      select from agents.events e
      where e.actor_agent_id = may_have_new_event.agent_id
        and e.actor_agent_id <> e.subject_agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
  from (
    select
      split_part(may_have_new_event.place, '.', 1)::xid8 as transaction_id,
      split_part(may_have_new_event.place, '.', 2)::bigint as event_id
  ) a;
end;
comment on function agents.may_have_new_event(text, text) is
  'False only where has_new_event, of any types, is false.';

create function public.agent_api_find_changes(waits jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- For each wait, a few index entries are looked for, and usually none is there. The planner would
-- read tables with few rows whole, once for each wait.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  epoch constant text := agents.present_epoch();
  answer json;
begin
  with waiting as (
    select
      e.number - 1 as place,
      e.wait,
      e.wait ->> 'kind' as kind,
      -- A key or token that has ended counts as news, because the next answer is a refusal. So does
      -- a position of another epoch.
      e.wait -> 'caller' ->> 'kind' in ('agent', 'user') and c.agent_id is null
        or split_part(e.wait ->> 'after', '-', 1) <> epoch
        or split_part(e.wait ->> 'inbox_after', '-', 1) <> epoch
        or split_part(e.wait ->> 'events_after', '-', 1) <> epoch as is_over,
      split_part(
        case e.wait ->> 'kind' when 'inbox' then e.wait ->> 'after' else e.wait ->> 'inbox_after' end,
        '-', 2
      )::pg_snapshot as inbox_place,
      split_part(
        case e.wait ->> 'kind' when 'events' then e.wait ->> 'after' else e.wait ->> 'events_after' end,
        '-', 2
      ) as events_place,
      coalesce(c.agent_id, e.wait ->> 'agent_id') as agent_id
    from jsonb_array_elements(agent_api_find_changes.waits) with ordinality as e (wait, number)
    left join lateral (
      select k.agent_id
      from agents.keys k
      where k.key_hash = e.wait -> 'caller' ->> 'key_hash'
        and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
      limit 1
    ) k on true
    cross join lateral (
      select coalesce(k.agent_id, agents.agent_of_user(e.wait -> 'caller')) as agent_id
    ) c
  )
  select json_build_object(
    'changed', coalesce(json_agg(w.place), '[]'),
    'inbox_position', agents.position_at(agents.present_snapshot()::text),
    'events_position', agents.position_at(agents.horizon() || '.0')
  ) into answer
  from waiting w
  cross join lateral artifacts.may_have_new_grant(w.agent_id, w.inbox_place) g
  cross join lateral agents.may_have_new_event(w.agent_id, w.events_place) n
  where w.is_over
    or w.kind not in ('inbox', 'tasks', 'configuration', 'events', 'all')
    or w.kind = 'tasks' and artifacts.has_task(w.agent_id, w.wait ->> 'from_agent', w.wait ->> 'prefix')
    or w.wait ->> 'version' is not null
      and mesh.has_other_version(w.agent_id, (w.wait ->> 'version')::bigint)
    or w.inbox_place is not null
      and g.is_possible
      and artifacts.has_new_grant(w.agent_id, w.wait ->> 'from_agent', w.inbox_place)
    or w.events_place is not null
      and n.is_possible
      and agents.has_new_event(
        w.agent_id,
        case when w.kind = 'events' then array(select jsonb_array_elements_text(w.wait -> 'types')) end,
        w.events_place
      );
  return answer;
end
$$;
comment on function public.agent_api_find_changes(jsonb) is
  'Which of these waits have news, by their positions in the array, from 0: waits is [{kind: '
  '"inbox", caller, agent_id, from_agent, after}, {kind: "tasks", caller, agent_id, from_agent, '
  'prefix}, {kind: "configuration", caller, agent_id, '
  'version}, {kind: "events", caller, agent_id, types, after}, {kind: "all", caller, agent_id, '
  'version | null, inbox_after | null, events_after | null}]. The others continue from the '
  'positions in the answer. Authenticates nobody: each request with news queries its answer '
  'itself, with its own credential.';

-- After a restore: the operator's `agentops restore after` calls this before anything else.

create function public.agent_api_after_restore() returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  begun agents.epochs;
  newest_transaction xid8;
begin
  -- Lock before the epoch is read. Otherwise, a peer that registers meanwhile would begin at the
  -- old number.
  lock table mesh.config_versions in exclusive mode;
  newest_transaction := greatest(
    -- xid8 has no max() before PostgreSQL 16.
    (select n.transaction_id from agents.events n order by n.transaction_id desc, n.event_id desc limit 1),
    (select t.transaction_id from agents.agent_tags t order by t.transaction_id desc limit 1),
    (select g.transaction_id from artifacts.grants g order by g.transaction_id desc limit 1)
  );
  update agents.epochs e
  set epoch = agents.new_epoch(),
      begun_at = clock_timestamp(),
      -- A clock that went back must not bring versions back.
      first_version_after = greatest(
        clock_timestamp(), e.first_version_after + interval '1 day'
      ),
      -- Units of 10 microseconds since 1970. Every version that was handed out before is lower: a
      -- version rises by one per change, and a change takes longer than 10 microseconds. The number
      -- has 15 digits until 2286, so that every client reads it exactly. The other two values are
      -- for a clock that went back.
      first_config_version = greatest(
        (extract(epoch from clock_timestamp()) * 100000)::bigint,
        e.first_config_version + 1,
        (select max(v.version) + 1 from mesh.config_versions v)
      ),
      -- From now on, every row is below the horizon.
      transaction_offset = greatest(
        e.transaction_offset,
        newest_transaction::text::bigint + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      )
  where e.only_row
  returning e.* into begun;
  update mesh.config_versions v
  set version = begun.first_config_version
  where v.version < begun.first_config_version;
  -- Otherwise, a host that once reported a version it never received would stay a sign.
  update mesh.liveness l
  set config_version_highest = null,
      rendering_revision_highest = null
  where l.config_version_highest is not null or l.rendering_revision_highest is not null;

  perform agents.record_event(
    '{"kind": "operator"}', null, 'epoch.begun', null, null,
    jsonb_build_object('epoch', begun.epoch, 'first_config_version', begun.first_config_version)
  );
  return json_build_object(
    'epoch', begun.epoch,
    'begun_at', agents.iso_timestamp(begun.begun_at),
    'first_config_version', begun.first_config_version
  );
end
$$;
comment on function public.agent_api_after_restore() is
  'Begins another epoch, after the database was restored: every position that was handed out is '
  'now refused with position_expired, every config_version is raised beyond any that was ever '
  'handed out, the next versions of all files are, too, and the transactions of rows from another cluster are now in the past. Returns '
  '{epoch, begun_at, first_config_version}.';

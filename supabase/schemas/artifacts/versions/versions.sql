-- Versions: the committed artifacts of one name, numbered from 1 in the order of their commits. A
-- number that was given out once is never given to another artifact of the name.

-- The order of /versions. Also finds the highest number of a name.
create unique index versions_by_name on artifacts.artifacts (agent_id, key, version)
  where version is not null;

create table artifacts.spent_versions (
  agent_id agents.agent_id,
  key_hash bytea,
  version bigint not null,

  primary key (agent_id, key_hash),
  constraint key_hash_has_16_bytes_or_none check (length(key_hash) in (0, 16)),
  constraint versions_begin_at_1 check (version >= 1)
);
comment on table artifacts.spent_versions is
  'The highest version that each name of an agent had when the tombstone of that version was '
  'deleted, so that the number is not given out again. Rows stay as long as the agent''s name has '
  'the same holder: one per name whose newest artifact ended a month ago.';
comment on column artifacts.spent_versions.key_hash is
  'The first 16 bytes of the SHA-256 of the name (`key`). Empty: all names of the agent, because '
  'an earlier holder of the agent''s name may have used them.';

create function artifacts.hash_of_key(key text) returns bytea
language sql
immutable
return substring(sha256(convert_to(key, 'UTF8')) from 1 for 16);
comment on function artifacts.hash_of_key(text) is 'What spent_versions stores of a name.';

create function artifacts.version_at(instant timestamptz) returns bigint
language sql
immutable
-- Milliseconds since 1970. Every version that was given out before is lower: a name gets fewer than
-- one version per millisecond. The number has 13 digits until 2286.
return (extract(epoch from instant) * 1000)::bigint;
comment on function artifacts.version_at(timestamptz) is
  'A version that is higher than every one that was given out before a time, for names whose '
  'versions are not known.';

create function artifacts.next_version(agent_id text, key text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One statement, so that a tombstone that is being deleted is seen in one of the two tables.
  return (
    select greatest(
      1 + (
        select a.version
        from artifacts.artifacts a
        where a.agent_id = next_version.agent_id
          and a.key = next_version.key
          and a.version is not null
        order by a.version desc
        limit 1
      ),
      1 + (
        select max(s.version)
        from artifacts.spent_versions s
        where s.agent_id = next_version.agent_id
          and s.key_hash in ('', artifacts.hash_of_key(next_version.key))
      ),
      (select artifacts.version_at(e.first_version_after) from agents.epochs e),
      -- Of an erased agent, nothing else is known.
      (
        select artifacts.version_at(e.erased_at)
        from agents.erased_names e
        where e.name_hash = agents.hash_of_name(next_version.agent_id)
      ),
      1
    )
  );
end
$$;
comment on function artifacts.next_version(text, text) is
  'The version of the next artifact that is committed under a name. The caller holds the lock of '
  'commits under this name.';

create function artifacts.begin_versions_anew(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from artifacts.spent_versions s where s.agent_id = begin_versions_anew.agent_id;
  insert into artifacts.spent_versions (agent_id, key_hash, version)
  values (begin_versions_anew.agent_id, '', artifacts.version_at(clock_timestamp()));
end
$$;
comment on function artifacts.begin_versions_anew(text) is
  'For a new holder of an agent''s name: its versions begin above every one that the former holder '
  'had, and tell nothing of them.';

create function artifacts.keep_spent_versions(artifact_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into artifacts.spent_versions as s (agent_id, key_hash, version)
  select a.agent_id, artifacts.hash_of_key(a.key), max(a.version)
  from artifacts.artifacts a
  where a.artifact_id = any (keep_spent_versions.artifact_ids)
    and a.version is not null
    -- A later version of the name keeps the count.
    and not exists (
      select
      from artifacts.artifacts l
      where l.agent_id = a.agent_id
        and l.key = a.key
        and l.version > a.version
        and l.artifact_id <> all (keep_spent_versions.artifact_ids)
    )
  group by a.agent_id, a.key
  order by a.agent_id, artifacts.hash_of_key(a.key)
  on conflict on constraint spent_versions_pkey do update
  set version = greatest(s.version, excluded.version);
end
$$;
comment on function artifacts.keep_spent_versions(text[]) is
  'Call this before the tombstones of these artifacts are deleted.';

create function artifacts.is_taken(artifact_id text) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  instant timestamptz := clock_timestamp();
begin
  -- Not `exists`: see artifacts.is_granted. A grant that has ended has ended its task.
  return (
    select count(*) > 0
    from artifacts.live_grants(is_taken.artifact_id, instant) g
    cross join lateral (
      select
      from artifacts.tasks t
      where t.grant_id = g.grant_id and t.state = 'taken' and t.ready_at > instant
      limit 1
    ) t
  );
end
$$;
comment on function artifacts.is_taken(text) is
  'Whether somebody has taken a task of an artifact, so that keep_versions must not end it.';

create function artifacts.end_surplus_versions(
  caller jsonb,
  caller_agent text,
  committed artifacts.artifacts
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- One more superseded version comes with each commit, so these catch up.
  most_read constant integer := 1000;
  most_ended constant integer := 100;
  instant timestamptz := clock_timestamp();
  surplus_ids text[];
  ended artifacts.artifacts;
begin
  surplus_ids := array(
    select s.artifact_id
    from (
      select a.artifact_id, a.state, a.ended_at, a.expires_at, a.version
      from artifacts.artifacts a
      where a.agent_id = committed.agent_id and a.key = committed.key and a.version is not null
        and a.version < committed.version
        and a.state = 'superseded' and a.ended_at is null and a.expires_at > instant
      order by a.version desc
      offset committed.keep_versions
      limit most_read
    ) s
    where not artifacts.is_taken(s.artifact_id)
      and (
        committed.end_grants
        or not exists (select from artifacts.live_grants(s.artifact_id, instant))
      )
    order by s.version
    limit most_ended
  );
  -- Skips what others have locked: waiting for it here could deadlock. A later commit ends it.
  surplus_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (surplus_ids) and a.state = 'superseded'
    order by a.artifact_id
    for update skip locked
  );
  for ended in
    update artifacts.artifacts a
    set state = 'deleted', deleted_at = clock_timestamp()
    where a.artifact_id = any (surplus_ids)
      -- Under the lock again: they may have been granted or taken meanwhile.
      and not artifacts.is_taken(a.artifact_id)
      and (
        committed.end_grants
        or not exists (select from artifacts.live_grants(a.artifact_id, instant))
      )
    returning a.*
  loop
    perform agents.record_event(
      caller, caller_agent, 'artifact.deleted', ended.agent_id, ended.artifact_id,
      jsonb_build_object('key', ended.key, 'reason', 'keep_versions')
    );
  end loop;
end
$$;
comment on function artifacts.end_surplus_versions(jsonb, text, artifacts.artifacts) is
  'Ends the superseded versions of a name that its newest artifact does not keep, as if they were '
  'deleted; at most 100 per commit. It leaves those that are taken and, without end_grants, those '
  'that are granted.';

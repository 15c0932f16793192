-- Which of the bucket's objects are live, as far as the rows tell. Only this file decides it; the sweep and fsck ask.
-- One pass over the bucket and the rows.

create function artifacts.judge_objects()
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with placed as (
    select o.name, o.created_at, split_part(o.name, '/', 2) as artifact_id,
      case
        when o.name ~ '^incoming/[^/]+$' then 0
        when o.name ~ '^sealed/[^/]+/[1-9][0-9]{0,8}$' then split_part(o.name, '/', 3)::integer
      end as attempt
    from storage.objects o
    where o.bucket_id = 'agent-artifacts'
  ), judged as (
    select p.name, p.created_at, a.state = 'pending' and a.ended_at is null as is_pending,
      case
        -- First, because nearly all are: the rest is not even looked at.
        when a.committed_at is not null and a.ended_at is null and a.sealed_path = p.name then 'live'
        -- Also an attempt that the row has not come to: so looks a database of yesterday beside the bucket of today.
        when a.artifact_id is null or p.attempt is null or p.attempt > a.commit_attempts then 'unknown'
        when a.committed_at is not null or a.ended_at is not null then 'dead'
        -- Not even a delete makes what a commit may be at work on dead: only the sweep does, when it ends the artifact.
        when p.attempt between 1 and a.rejected_attempts then 'dead'
        else 'live'
      end as standing
    from placed p
    left join artifacts.artifacts a on a.artifact_id = p.artifact_id
  )
  select j.name, j.standing, coalesce(j.is_pending, false), j.created_at
  from judged j
  where j.standing <> 'live'
$$;
comment on function artifacts.judge_objects() is
  'Every object of the bucket that is not live. standing: "dead", its row says so, and never takes that back; or "unknown", no row accounts for it. is_pending: a commit to come may still use the path.';

create function artifacts.has_sealed_objects(artifact_id text, since timestamptz) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from storage.objects o
    where o.bucket_id = 'agent-artifacts'
      -- The folder, as a range of Storage's own index: '0' is the character after '/'.
      and o.name collate "C" >= 'sealed/' || has_sealed_objects.artifact_id || '/'
      and o.name collate "C" < 'sealed/' || has_sealed_objects.artifact_id || '0'
      and o.created_at > has_sealed_objects.since
  )
$$;
comment on function artifacts.has_sealed_objects(text, timestamptz) is
  'Whether a sealed object of this artifact lies in the bucket that was uploaded after since.';

create function artifacts.has_objects(artifact_id text) returns boolean
language sql
stable
set search_path = ''
as $$
  select artifacts.has_sealed_objects(has_objects.artifact_id, since => '-infinity')
    or exists (
      select from storage.objects o
      where o.bucket_id = 'agent-artifacts' and o.name = 'incoming/' || has_objects.artifact_id
    )
$$;
comment on function artifacts.has_objects(text) is 'Whether anything of this artifact lies in the bucket.';

revoke all on function
  artifacts.judge_objects(),
  artifacts.has_sealed_objects(text, timestamptz),
  artifacts.has_objects(text)
from public, anon, authenticated;

grant execute on function
  artifacts.judge_objects(),
  artifacts.has_sealed_objects(text, timestamptz),
  artifacts.has_objects(text)
to service_role;

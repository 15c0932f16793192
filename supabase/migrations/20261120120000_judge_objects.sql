-- Which of the bucket's objects are live, as far as the rows tell. Only this file knows; the sweep and fsck ask it.

create function artifacts.judge_objects()
returns table (object_name text, artifact_id text, standing text, is_pending boolean, stored_at timestamptz)
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
  )
  select p.name, p.artifact_id,
    case
      -- Also an attempt that the row has not come to: so looks a database of yesterday beside the bucket of today.
      when a.artifact_id is null or p.attempt is null or p.attempt > a.commit_attempts then 'unknown'
      when a.ended_at is not null then 'dead'
      when a.committed_at is not null then case when p.name = a.sealed_path then 'live' else 'dead' end
      -- Not even a delete makes what a commit may be at work on dead: only the sweep does, when it ends the artifact.
      when p.attempt between 1 and a.rejected_attempts then 'dead'
      else 'live'
    end,
    coalesce(a.state = 'pending' and a.ended_at is null, false),
    p.created_at
  from placed p
  left join artifacts.artifacts a on a.artifact_id = p.artifact_id
$$;
comment on function artifacts.judge_objects() is
  'Every object of the bucket. standing: "live"; "dead": its row says so, and never takes that back; "unknown": no row accounts for it. is_pending: a commit to come may still use the path.';

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

-- The bucket in Storage, and which rows of Storage are its objects. No other file reads Storage's
-- tables.

create function artifacts.bucket() returns text
language sql
immutable
return 'agent-artifacts';
comment on function artifacts.bucket() is 'The bucket that holds every artifact''s bytes.';

-- The private bucket. Its size limit is the project's own (Settings, Storage).
insert into storage.buckets (id, name, public)
values (artifacts.bucket(), artifacts.bucket(), false)
on conflict (id) do update set public = false;

-- Newer releases of Storage can keep versions of an object. Then a name has several rows: at most
-- one that is current, older ones with archived_at, and after a DELETE one that only marks that the
-- object is gone. Older releases do not have these columns, and an upgrade of Storage may add them
-- at any time.
-- In the following function, `archived_at` and `is_delete_marker` have no table's name before them.
-- So PostgreSQL looks for them in storage.objects first, and then in `older_storage`. It decides
-- this whenever it plans a statement, because the body is text and is inlined. When a table gets a
-- column, PostgreSQL plans all statements that read it again: no command has to follow an upgrade.
create function artifacts.object_versions()
returns table (
  id uuid, name text, version text, created_at timestamptz, metadata jsonb, archived_at timestamptz,
  is_delete_marker boolean
)
language sql
stable
-- A function with settings is not inlined. All names in the body are qualified, or built in.
as $$
  select v.id, v.name, v.version, v.created_at, v.metadata, v.archived_at, v.is_delete_marker
  from (select null::timestamptz as archived_at, false as is_delete_marker) older_storage
  cross join lateral (
    select o.id, o.name, o.version, o.created_at, o.metadata, archived_at, is_delete_marker
    from storage.objects o
    where o.bucket_id = artifacts.bucket()
  ) v
$$;
comment on function artifacts.object_versions() is
  'The rows of storage.objects for the bucket: objects, older versions and delete markers. Works '
  'with and without Storage''s columns for versions.';

create view artifacts.current_objects with (security_invoker = true) as
select v.id, v.name, v.version, v.created_at, v.metadata
from artifacts.object_versions() v
where v.archived_at is null and v.is_delete_marker is not true;
comment on view artifacts.current_objects is
  'The objects in the bucket: one row per name. Neither an older version nor a delete marker is an '
  'object. Compare names in byte order (collate "C"): since 1.77, Storage has no other index that '
  'begins with the bucket.';

create function artifacts.current_names(after text, up_to text, max_entries integer)
returns table (name text)
language plpgsql
stable
set search_path = ''
-- The index has the names in this order. Until storage.objects is analyzed, the planner has no
-- statistics of a column that Storage has just added, and takes nearly all rows for older versions:
-- then reading and sorting the whole bucket looks cheaper.
set enable_sort = off
as $$
begin
  return query
  select o.name collate "C"
  from artifacts.current_objects o
  where o.name collate "C" > current_names.after and o.name collate "C" < current_names.up_to
  order by o.name collate "C"
  limit current_names.max_entries;
end
$$;
comment on function artifacts.current_names(text, text, integer) is
  'The names of the first max_entries rows of current_objects between two names, in byte order.';

create function artifacts.versioning_status() returns text
language sql
stable
set search_path = ''
as $$
  select coalesce(to_jsonb(b) ->> 'versioning_status', 'DISABLED')
  from storage.buckets b
  where b.id = artifacts.bucket()
$$;
comment on function artifacts.versioning_status() is
  'Whether Storage keeps versions of the objects in the bucket: DISABLED, ENABLED or SUSPENDED. '
  'Null: the bucket is missing.';

create function artifacts.refuse_versions() returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if artifacts.versioning_status() <> 'DISABLED' then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The bucket ' || artifacts.bucket() || ' keeps versions, so deleted bytes would stay. '
        || 'Run agentops doctor, which says what to do.';
  end if;
end
$$;
comment on function artifacts.refuse_versions() is
  'Raises misconfigured if the bucket keeps versions: whoever removes an object there leaves its '
  'bytes.';

create function artifacts.require_bucket() returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if artifacts.versioning_status() is null then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The project has no bucket ' || artifacts.bucket() || '. Make a private bucket of this name.';
  end if;
  perform artifacts.refuse_versions();
end
$$;
comment on function artifacts.require_bucket() is
  'Raises misconfigured if the bucket is missing, or if it keeps versions.';

create function public.agent_api_check_bucket() returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform artifacts.require_bucket();
  return json_build_object('status', 'ok');
end
$$;
comment on function public.agent_api_check_bucket() is
  'Answers if the bucket is there and keeps no versions. /health of agent-artifacts calls it. '
  'Raises misconfigured.';

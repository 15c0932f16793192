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
-- object is gone. Older releases do not have these columns, so they are read from the row as JSON,
-- after the index has found it. A column that Storage adds later is in that JSON, too.
create view artifacts.current_objects with (security_invoker = true) as
select o.id, o.name, o.version, o.created_at, o.metadata
from storage.objects o
where o.bucket_id = artifacts.bucket()
  and to_jsonb(o) ->> 'archived_at' is null
  and to_jsonb(o) ->> 'is_delete_marker' is distinct from 'true';
comment on view artifacts.current_objects is
  'The objects in the bucket: one row per name. Neither an older version nor a delete marker is an '
  'object. Works with and without Storage''s columns for versions.';

create function artifacts.storage_keeps_versions() returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from pg_catalog.pg_attribute a
    where a.attrelid = 'storage.objects'::regclass
      and a.attname in ('archived_at', 'is_delete_marker')
      and not a.attisdropped
  )
$$;
comment on function artifacts.storage_keeps_versions() is
  'Whether this release of Storage can have rows that are not current objects.';

create function artifacts.current_names(after text, up_to text, max_entries integer)
returns table (name text)
language plpgsql
stable
set search_path = ''
as $$
begin
  if artifacts.storage_keeps_versions() then
    return query
    select o.name collate "C"
    from artifacts.current_objects o
    where o.name collate "C" > current_names.after and o.name collate "C" < current_names.up_to
    order by o.name collate "C"
    limit current_names.max_entries;
  else
    -- Every row is an object. Its name is in the index, so no row is read.
    return query
    select o.name collate "C"
    from storage.objects o
    where o.bucket_id = artifacts.bucket()
      and o.name collate "C" > current_names.after
      and o.name collate "C" < current_names.up_to
    order by o.name collate "C"
    limit current_names.max_entries;
  end if;
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

create function artifacts.require_bucket() returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  status constant text := artifacts.versioning_status();
begin
  if status is null then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The project has no bucket ' || artifacts.bucket() || '. Make a private bucket of this name.';
  elsif status <> 'DISABLED' then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The bucket ' || artifacts.bucket() || ' keeps versions, so deleted bytes would stay. '
        || 'Run deno task doctor, which says what to do.';
  end if;
end
$$;
comment on function artifacts.require_bucket() is
  'Raises misconfigured if the bucket is missing, or if it keeps versions.';

create function public.check_bucket() returns json
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
comment on function public.check_bucket() is
  'Answers if the bucket is there and keeps no versions. /health of agent-artifacts calls it. '
  'Raises misconfigured.';

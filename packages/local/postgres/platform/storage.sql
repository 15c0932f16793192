-- Supabase Storage's tables, as far as a project can see them, of a release that can keep versions.
-- tests/database/bucket/migrations.ts lists the migrations of Storage that it stands for.

create schema storage authorization supabase_storage_admin;
grant usage on schema storage to postgres, anon, authenticated, service_role;
set local role supabase_storage_admin;

alter default privileges in schema storage
  grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges in schema storage
  grant all on functions to postgres, anon, authenticated, service_role;

create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');

create table storage.buckets (
  id text primary key,
  name text not null,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  public boolean default false,
  avif_autodetection boolean default false,
  file_size_limit bigint,
  allowed_mime_types text[],
  owner_id text,
  type storage.buckettype not null default 'STANDARD',
  versioning_status text not null default 'DISABLED'
    constraint buckets_versioning_status_check
      check (versioning_status in ('DISABLED', 'ENABLED', 'SUSPENDED')),
  lifecycle_configuration jsonb,
  lifecycle_configuration_generation uuid
);
create unique index bname on storage.buckets (name);

create table storage.objects (
  id uuid primary key default gen_random_uuid(),
  bucket_id text constraint "objects_bucketId_fkey" references storage.buckets (id),
  name text,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  last_accessed_at timestamptz default now(),
  metadata jsonb,
  path_tokens text[] generated always as (string_to_array(name, '/')) stored,
  version text,
  owner_id text,
  user_metadata jsonb,
  archived_at timestamptz,
  is_delete_marker boolean not null default false,
  is_versioned boolean not null default false
);
create index name_prefix_search on storage.objects (name text_pattern_ops);
create index idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index idx_objects_bucket_id_name_lower
  on storage.objects (bucket_id, lower(name) collate "C");
create unique index objects_bucket_id_name_version_key
  on storage.objects (bucket_id, name collate "C", version) nulls not distinct;
create unique index idx_objects_current_version
  on storage.objects (bucket_id, name collate "C") where archived_at is null;
create unique index idx_objects_null_version
  on storage.objects (bucket_id, name collate "C") where not is_versioned;
create index idx_objects_delete_markers
  on storage.objects (bucket_id, name collate "C") where is_delete_marker;

alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;

-- A bucket that has kept versions goes on knowing them.
create function storage.enforce_versioning_status_transition() returns trigger
  language plpgsql
  set search_path = ''
as $$
begin
  if new.versioning_status <> old.versioning_status and (
    new.versioning_status = 'DISABLED'
    or old.versioning_status = 'DISABLED' and new.versioning_status = 'SUSPENDED'
  ) then
    raise exception 'A bucket''s versioning cannot go from % to %.',
      old.versioning_status, new.versioning_status;
  end if;
  return new;
end
$$;

create trigger enforce_versioning_status_transition
  before update of versioning_status on storage.buckets
  for each row execute function storage.enforce_versioning_status_transition();

-- A row without its bytes, or bytes without their row, are useless, so only Storage itself may
-- delete.
create function storage.protect_delete() returns trigger
  language plpgsql
  set search_path = ''
as $$
begin
  if coalesce(current_setting('storage.allow_delete_query', true), 'false') <> 'true' then
    raise insufficient_privilege using
      message = 'Direct deletion from storage tables is not allowed. Use the Storage API instead.';
  end if;
  return null;
end
$$;

create trigger protect_buckets_delete before delete on storage.buckets
  for each statement execute function storage.protect_delete();
create trigger protect_objects_delete before delete on storage.objects
  for each statement execute function storage.protect_delete();

reset role;

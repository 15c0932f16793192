-- How often grants were used, and how often they may be used.

create table artifacts.grant_downloads (
  grant_id text collate "C" primary key references artifacts.grants (grant_id) on delete cascade,
  max_downloads integer,
  downloads bigint not null default 0,

  constraint max_downloads_is_1_to_1000 check (max_downloads between 1 and 1000),
  constraint downloads_are_not_negative check (downloads >= 0),
  constraint no_more_downloads_than_allowed check (downloads <= max_downloads)
)
-- fillfactor leaves room for HOT updates: counting a download changes no indexed column.
with (fillfactor = 50);
comment on table artifacts.grant_downloads is
  'One row per grant with a download limit, created with the grant, and one per other grant whose '
  'token was used, created by the sweep.';
comment on column artifacts.grant_downloads.max_downloads is 'Null: any number.';
comment on column artifacts.grant_downloads.downloads is
  'With max_downloads: all downloads, each counted by the transaction that allows it. Without: '
  'downloads with the token that agents.reads no longer counts.';

create function artifacts.is_limited(grant_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select
    from artifacts.grant_downloads d
    where d.grant_id = is_limited.grant_id and d.max_downloads is not null
  );
end
$$;
comment on function artifacts.is_limited(text) is
  'Whether a grant has a download limit, so that each download must be counted. This never '
  'changes.';

create function artifacts.count_download(grant_id text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- A concurrent download waits for the row, and then checks again how many are left.
  update artifacts.grant_downloads d
  set downloads = d.downloads + 1
  where d.grant_id = count_download.grant_id and d.downloads < d.max_downloads;
  return found;
end
$$;
comment on function artifacts.count_download(text) is
  'Counts a download of a grant with a limit; false: the limit is reached.';

create function artifacts.use_grant(
  artifact_id text,
  agent_id text,
  instant timestamptz,
  out ends_at timestamptz,
  out counted_grant_id text
)
language plpgsql
volatile
set search_path = ''
as $$
declare
  candidate record;
begin
  for candidate in
    select g.grant_id, g.live_until, d.max_downloads is not null as is_limited,
      d.downloads >= d.max_downloads as is_used_up
    from artifacts.live_grants(use_grant.artifact_id, use_grant.instant) g
    left join lateral (
      select d.max_downloads, d.downloads
      from artifacts.grant_downloads d
      where d.grant_id = g.grant_id
      limit 1
    ) d on true
    where g.grantee = use_grant.agent_id
      -- Only a grant to a tag makes this read the agent's tags. They cannot change meanwhile: the
      -- caller holds the agent's access_lock, which a change of its tags waits for.
      or g.to_tag is not null and g.to_tag in (
        select t.tag from agents.agent_tags t where t.agent_id = use_grant.agent_id
      )
    -- First the grants without a limit, those that last longest first. Then the limited ones, those
    -- that end first. The order is the same in every transaction, which prevents deadlocks: a grant
    -- stays locked even if another transaction took its last download.
    order by is_limited, case when d.max_downloads is null then g.live_until end desc,
      g.live_until, g.grant_id collate "C"
  loop
    continue when candidate.is_used_up;
    if not candidate.is_limited or artifacts.count_download(candidate.grant_id) then
      use_grant.ends_at := candidate.live_until;
      use_grant.counted_grant_id := case when candidate.is_limited then candidate.grant_id end;
      return;
    end if;
  end loop;

  if not found then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;
  raise sqlstate 'PT410' using message = 'grant_used_up';
end
$$;
comment on function artifacts.use_grant(text, text, timestamptz) is
  'Chooses a grant of an artifact to an agent, or to a tag of it, that is live after a given time. '
  'Returns when that access ends. If the grant has a download limit, this counts the download and '
  'also returns the grant. Raises artifact_not_found if there is no such grant, grant_used_up if '
  'none allows another download.';

create function artifacts.settle_downloads(grant_id text, downloads bigint) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- The downloads of a limited grant are already counted in its row. Do not lock that row: a
  -- transaction that counts a download holds it, and may be waiting for this one.
  if artifacts.is_limited(settle_downloads.grant_id) then
    return;
  end if;
  insert into artifacts.grant_downloads as d (grant_id, downloads)
  select g.grant_id, settle_downloads.downloads
  from artifacts.grants g
  where g.grant_id = settle_downloads.grant_id
  -- The grant may be deleted concurrently: then this inserts nothing.
  for key share
  on conflict on constraint grant_downloads_pkey do update
  set downloads = d.downloads + excluded.downloads;
end
$$;
comment on function artifacts.settle_downloads(text, bigint) is
  'Stores how often the token of a grant without a limit was used. agents.reads has counted these '
  'downloads, and its row is about to be deleted.';

create function public.agent_api_return_download(grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  update artifacts.grant_downloads d
  set downloads = d.downloads - 1
  where d.grant_id = agent_api_return_download.grant_id and d.max_downloads is not null and d.downloads > 0;
  return json_build_object('returned', found);
end
$$;
comment on function public.agent_api_return_download(text) is
  'Takes back the count of a download whose answer could not be given. Needs no authentication: '
  'the download was allowed, and nobody else can call this.';

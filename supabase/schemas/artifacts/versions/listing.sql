-- Finding the versions of a name: /versions, and what /open says of a file that was replaced.

create function artifacts.live_versions(
  agent_id text,
  key text,
  before_version bigint,
  max_entries integer
) returns setof artifacts.artifacts
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since: the planner might sort all versions of the name.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
    select a.*
    from artifacts.artifacts a
    where a.agent_id = live_versions.agent_id
      and a.key = live_versions.key
      and a.version is not null
      and a.version < coalesce(live_versions.before_version, 9223372036854775807)
    order by a.agent_id desc, a.key desc, a.version desc
    limit live_versions.max_entries;
end
$$;
comment on function artifacts.live_versions(text, text, bigint, integer) is
  'The newest versions of a name below a number, also those that have ended.';

create function artifacts.is_open_to(artifact artifacts.artifacts, caller_agent text, instant timestamptz)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return artifact.state in ('committed', 'superseded')
    and artifact.ended_at is null
    and artifact.expires_at > instant
    and (
      is_open_to.caller_agent is null
      or is_open_to.caller_agent = artifact.agent_id
      or artifacts.is_granted(artifact.artifact_id, is_open_to.caller_agent, instant)
    );
end
$$;
comment on function artifacts.is_open_to(artifacts.artifacts, text, timestamptz) is
  'Whether an artifact has not ended, and a caller (null: the operator) may open it. Its downloads '
  'may be used up.';

create function artifacts.refuse_replaced(agent_id text, key text, caller_agent text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  instant timestamptz := clock_timestamp();
  open_versions jsonb;
begin
  select jsonb_agg(
    jsonb_build_object('artifact_id', v.artifact_id, 'version', v.version) order by v.version desc
  )
  into open_versions
  from (
    select w.artifact_id, w.version
    from artifacts.live_versions(refuse_replaced.agent_id, refuse_replaced.key, null, 1000) w
    where w.state = 'superseded' and artifacts.is_open_to(w, refuse_replaced.caller_agent, instant)
    limit 10
  ) v;
  if open_versions is not null then
    raise sqlstate 'PT404' using
      message = 'artifact_not_found',
      detail = json_build_object('replaced', open_versions),
      hint = format(
        'This file was replaced, and you have no access to what replaced it. You may still open version %s (%s).',
        open_versions -> 0 ->> 'version', open_versions -> 0 ->> 'artifact_id'
      );
  end if;
end
$$;
comment on function artifacts.refuse_replaced(text, text, text) is
  'Raises artifact_not_found with the superseded versions of a name that a caller may open, if '
  'there are any: {replaced: [{artifact_id, version}]}, at most 10. Looks at the newest 1,000.';

create function artifacts.numbered_artifact(agent_id text, key text, version bigint, caller_agent text)
returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  if exists (
    select
    from artifacts.spent_versions s
    where s.agent_id = numbered_artifact.agent_id
      and s.key_hash = ''
      and s.version > numbered_artifact.version
  ) then
    -- A former holder of the agent's name may have had it.
    return null;
  end if;
  select a.* into artifact
  from artifacts.artifacts a
  where a.agent_id = numbered_artifact.agent_id
    and a.key = numbered_artifact.key
    and a.version = numbered_artifact.version;
  if not found and octet_length(numbered_artifact.key) > char_length(numbered_artifact.key) then
    select a.* into artifact
    from artifacts.artifacts a
    where a.agent_id = numbered_artifact.agent_id
      and a.key = (
        artifacts.named_artifact(
          numbered_artifact.agent_id, numbered_artifact.key, numbered_artifact.caller_agent
        )
      ).key
      and a.version = numbered_artifact.version;
  end if;
  return artifact;
end
$$;
comment on function artifacts.numbered_artifact(text, text, bigint, text) is
  'A version of an agent''s `key`, even if it has ended; null: none. The name may be another '
  'Unicode spelling of a current one: see artifacts.named_artifact.';

create function public.agent_api_list_versions(
  caller jsonb,
  agent_id text,
  key text,
  max_entries integer,
  before_version bigint default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_list_versions.caller);
  owner text := coalesce(
    agent_api_list_versions.agent_id, agents.require_self(caller_agent, null)
  );
  instant timestamptz := clock_timestamp();
  -- An upper limit on the versions that one page reads, so that ended ones cannot slow it down.
  entries_per_page constant integer := agent_api_list_versions.max_entries + 1000;
  answer json;
begin
  with walked as (
    select w as artifact, w.version
    from artifacts.live_versions(
      owner, agent_api_list_versions.key, agent_api_list_versions.before_version, entries_per_page
    ) w
  ), listed as (
    select w.artifact, w.version
    from walked w
    where artifacts.is_open_to(w.artifact, caller_agent, instant)
    order by w.version desc
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_versions.max_entries + 1
  ), page as (
    select l.* from listed l order by l.version desc limit agent_api_list_versions.max_entries
  )
  select json_build_object(
    'versions', (
      select coalesce(json_agg(artifacts.artifact_json(p.artifact) order by p.version desc), '[]')
      from page p
    ),
    'next_cursor', case
      when (select count(*) from listed) > agent_api_list_versions.max_entries
        then (select min(p.version) from page p)::text
      when (select count(*) from walked) = entries_per_page
        then (select min(w.version) from walked w)::text
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_versions(jsonb, text, text, integer, bigint) is
  'The versions of an agent''s `key` (null: the caller''s) that a caller may open, newest first, '
  'below before_version: for the owner and the operator all that have not ended. A page may be '
  'short or empty before the last. Raises invalid_request.';

-- What owners do with standing grants.

create function public.agent_api_create_standing_grant(
  caller jsonb,
  standing_id text,
  agent_id text,
  name text,
  is_prefix boolean,
  to_agent text,
  to_tag text,
  expires_at timestamptz,
  grant_days integer,
  existing boolean,
  note text default null,
  is_shared boolean default false,
  max_standing integer default 1000,
  max_existing integer default 1000,
  max_live_grants integer default 1000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  instant timestamptz;
  last_key text collate "C";
  existing_ids text[] := array[]::text[];
  artifact artifacts.artifacts;
  standing artifacts.standing_grants;
  granted integer := 0;
begin
  caller_agent := agents.admit(agent_api_create_standing_grant.caller);
  owner := agents.require_self(caller_agent, agent_api_create_standing_grant.agent_id);
  perform agents.claim_for_operator(caller_agent, owner);
  -- A commit is either before this, and among the existing artifacts, or sees the new row.
  perform pg_advisory_xact_lock(artifacts.standing_lock(owner));
  instant := clock_timestamp();
  if agent_api_create_standing_grant.expires_at <= instant then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;
  if (
    select count(*)
    from artifacts.standing_grants s
    where (s.from_agent, s.live_until) > (owner, instant)
      and (s.from_agent, s.live_until) <= (owner, timestamptz 'infinity')
  ) >= agent_api_create_standing_grant.max_standing then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'standing_grants', 'maximum', agent_api_create_standing_grant.max_standing
      );
  end if;

  if agent_api_create_standing_grant.existing then
    last_key := agent_api_create_standing_grant.name || case
      when agent_api_create_standing_grant.is_prefix then repeat(U&'\+10FFFF', 256) else ''
    end;
    existing_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = owner
        and a.state = 'committed'
        and a.ended_at is null
        and a.key >= agent_api_create_standing_grant.name
        and a.key <= last_key
        and a.expires_at > instant
      order by a.agent_id, a.key
      limit agent_api_create_standing_grant.max_existing + 1
    );
    if cardinality(existing_ids) > agent_api_create_standing_grant.max_existing then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object(
          'limit', 'existing_artifacts', 'maximum', agent_api_create_standing_grant.max_existing
        );
    end if;
    perform
    from artifacts.artifacts a
    where a.artifact_id = any (existing_ids)
    order by a.artifact_id
    for update;
    -- The counts are exact, because the artifacts are locked.
    if exists (
      select
      from unnest(existing_ids) as e (artifact_id)
      where (
        select count(*) from artifacts.live_grants(e.artifact_id, instant)
      ) >= agent_api_create_standing_grant.max_live_grants
    ) then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object(
          'limit', 'live_grants', 'maximum', agent_api_create_standing_grant.max_live_grants
        );
    end if;
  end if;

  insert into artifacts.standing_grants (
    standing_id, from_agent, covered_name, is_prefix, to_agent, to_tag, grant_days, note, is_shared,
    expires_at
  )
  values (
    agent_api_create_standing_grant.standing_id,
    owner,
    agent_api_create_standing_grant.name,
    agent_api_create_standing_grant.is_prefix,
    agent_api_create_standing_grant.to_agent,
    agent_api_create_standing_grant.to_tag,
    agent_api_create_standing_grant.grant_days,
    agent_api_create_standing_grant.note,
    agent_api_create_standing_grant.is_shared,
    agent_api_create_standing_grant.expires_at
  )
  returning * into standing;
  perform agents.record_event(
    agent_api_create_standing_grant.caller, caller_agent, 'standing.created', standing.to_agent,
    standing.standing_id,
    jsonb_strip_nulls(jsonb_build_object(
      'to_tag', standing.to_tag, 'expires_at', agents.iso_timestamp(standing.expires_at)
    )),
    owner
  );
  for artifact in
    select a.*
    from artifacts.artifacts a
    -- Deleted or ended while this waited for its lock.
    where a.artifact_id = any (existing_ids) and a.state = 'committed' and a.ended_at is null
    order by a.artifact_id
  loop
    granted := granted + 1;
    perform artifacts.grant_for_standing(
      agent_api_create_standing_grant.caller, caller_agent, standing, artifact
    );
  end loop;
  return artifacts.standing_json(standing) || jsonb_build_object('granted', granted);
end
$$;
comment on function public.agent_api_create_standing_grant(
  jsonb, text, text, text, boolean, text, text, timestamptz, integer, boolean, text, boolean, integer,
  integer, integer
) is
  'Makes a standing grant of a name or a prefix to an agent or a tag, and with existing the grants '
  'of what is committed there now: the standing grant, and how many it granted. note and is_shared '
  'are those of each grant. Raises forbidden, invalid_request, limit_exceeded.';

create function public.agent_api_list_standing_grants(
  caller jsonb,
  agent_id text,
  max_entries integer,
  cursor text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(
    agent_api_list_standing_grants.caller, agent_api_list_standing_grants.agent_id
  );
  answer json;
begin
  with walked as (
    select s.standing, row_number() over (
      order by (s.standing).live_until, (s.standing).standing_id
    ) as number
    from artifacts.read_position(agent_api_list_standing_grants.cursor) p
    cross join lateral (
      select i as standing
      from artifacts.standing_grants i
      where i.from_agent = subject
        and (i.live_until, i.standing_id) > (p.after_live_until, p.after_grant_id)
      order by i.from_agent, i.live_until, i.standing_id
      -- One more than asked for tells whether there is a next page.
      limit agent_api_list_standing_grants.max_entries + 1
    ) s
  ), page as (
    select w.* from walked w where w.number <= agent_api_list_standing_grants.max_entries
  )
  select json_build_object(
    'standing_grants', (
      select coalesce(json_agg(artifacts.standing_json(p.standing) order by p.number), '[]')
      from page p
      -- What was ended stays so if the clock goes back to before that.
      where (p.standing).ended_at is null
    ),
    'next_cursor', case
      when (select count(*) from walked) > agent_api_list_standing_grants.max_entries then (
        select (extract(epoch from (p.standing).live_until) * 1000000)::bigint
          || '.' || (p.standing).standing_id
        from page p
        order by p.number desc
        limit 1
      )
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_standing_grants(jsonb, text, integer, text) is
  'The live standing grants of an agent, those that end first. Raises forbidden, invalid_request.';

create function public.agent_api_end_standing_grant(
  caller jsonb,
  standing_id text,
  end_grants boolean default true,
  max_entries integer default 500
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  was_live boolean;
  instant timestamptz;
  live_ids text[] := array[]::text[];
  revoked record;
  revoked_count integer := 0;
begin
  caller_agent := agents.admit(agent_api_end_standing_grant.caller);
  select s.from_agent into owner
  from artifacts.standing_grants s
  where s.standing_id = agent_api_end_standing_grant.standing_id
    and (caller_agent is null or s.from_agent = caller_agent);
  if not found then
    raise sqlstate 'PT404' using
      message = 'grant_not_found',
      hint = 'There is no such standing grant, or it is not yours.';
  end if;
  -- Commits that run now are finished first; later ones make no grant of it.
  perform pg_advisory_xact_lock(artifacts.standing_lock(owner));
  was_live := artifacts.end_standing(
    array[agent_api_end_standing_grant.standing_id], agent_api_end_standing_grant.caller, caller_agent
  ) > 0;

  if agent_api_end_standing_grant.end_grants then
    instant := clock_timestamp();
    live_ids := array(
      select g.grant_id
      from artifacts.grants g
      where g.standing_id = agent_api_end_standing_grant.standing_id and g.live_until > instant
      order by g.standing_id, g.live_until
      limit agent_api_end_standing_grant.max_entries
    );
    -- Lock artifacts first, as in every function that ends several grants.
    perform
    from artifacts.artifacts a
    where a.artifact_id in (
      select g.artifact_id from artifacts.grants g where g.grant_id = any (live_ids)
    )
    order by a.artifact_id
    for update;
    for revoked in
      update artifacts.grants g
      set revoked_at = clock_timestamp()
      from artifacts.artifacts a
      where g.grant_id = any (live_ids)
        and g.live_until > clock_timestamp()
        and a.artifact_id = g.artifact_id
      returning g.grant_id, g.artifact_id, g.from_agent, g.to_agent, g.to_tag, a.key
    loop
      revoked_count := revoked_count + 1;
      perform agents.record_event(
        agent_api_end_standing_grant.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
        jsonb_strip_nulls(jsonb_build_object(
          'artifact_id', revoked.artifact_id, 'key', revoked.key, 'to_tag', revoked.to_tag
        )),
        revoked.from_agent
      );
    end loop;
  end if;
  return json_build_object(
    'standing_id', agent_api_end_standing_grant.standing_id,
    'ended', was_live,
    'revoked', revoked_count,
    'remaining', cardinality(live_ids) >= agent_api_end_standing_grant.max_entries
  );
end
$$;
comment on function public.agent_api_end_standing_grant(jsonb, text, boolean, integer) is
  'Ends a standing grant and, with end_grants, up to max_entries live grants that it made: '
  '{standing_id, ended: whether it was live, revoked, remaining}. While remaining is true, call it '
  'again. Idempotent. Raises grant_not_found.';

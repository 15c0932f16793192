-- What a commit does for standing grants: it makes the grants that they promise.

create function artifacts.grant_for_standing(
  caller jsonb,
  caller_agent text,
  standing artifacts.standing_grants,
  artifact artifacts.artifacts
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  given artifacts.grants;
begin
  insert into artifacts.grants (
    grant_id, artifact_id, from_agent, to_agent, to_tag, token_hash, expires_at, standing_id
  )
  values (
    'grant_' || replace(gen_random_uuid()::text, '-', ''),
    artifact.artifact_id,
    artifact.agent_id,
    standing.to_agent,
    standing.to_tag,
    -- Nobody has the token.
    encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'),
    coalesce(
      clock_timestamp() + make_interval(hours => 24 * standing.grant_days), standing.expires_at
    ),
    standing.standing_id
  )
  returning * into given;
  if standing.note is not null or standing.is_shared then
    insert into artifacts.hand_overs (grant_id, from_agent, note, is_shared)
    values (given.grant_id, given.from_agent, standing.note, standing.is_shared);
  end if;
  perform artifacts.forget_surplus_grants(given.from_agent, 10000);
  perform agents.record_event(
    caller, caller_agent, 'grant.created', given.to_agent, given.grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', given.artifact_id,
      'key', artifact.key,
      'expires_at', agents.iso_timestamp(given.expires_at),
      'to_tag', given.to_tag,
      'standing_id', given.standing_id
    )),
    given.from_agent
  );
end
$$;
comment on function artifacts.grant_for_standing(
  jsonb, text, artifacts.standing_grants, artifacts.artifacts
) is
  'Makes the grant of a standing grant for an artifact that the transaction has locked.';

create function artifacts.lock_standing_of(agent_id text, key text) returns text[]
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  instant timestamptz;
begin
  perform pg_advisory_xact_lock_shared(artifacts.standing_lock(lock_standing_of.agent_id));
  instant := clock_timestamp();
  -- Most agents have no standing grants, and pay for one index lookup.
  if not exists (
    select
    from artifacts.standing_grants s
    where (s.from_agent, s.live_until) > (lock_standing_of.agent_id, instant)
      and (s.from_agent, s.live_until) <= (lock_standing_of.agent_id, timestamptz 'infinity')
    order by s.from_agent, s.live_until
    limit 1
  ) then
    return array[]::text[];
  end if;
  return array(
    select s.standing_id
    from artifacts.standing_grants s
    where s.standing_id = any (array(
        select i.standing_id
        from generate_series(0, char_length(lock_standing_of.key)) as length
        cross join lateral (
          select n.standing_id
          from artifacts.standing_grants n
          where n.from_agent = lock_standing_of.agent_id
            and n.covered_name = left(lock_standing_of.key, length)
            and n.live_until > instant
            and (n.is_prefix or n.covered_name = lock_standing_of.key)
          order by n.from_agent, n.covered_name, n.live_until
          limit 1000
        ) i
      ))
      -- The clock of after a wait: the end of an agent, which has no lock above, may have taken the
      -- row's lock before `instant` and ended it afterwards.
      and s.live_until > clock_timestamp()
      -- What was ended stays so if the clock goes back to before that.
      and s.ended_at is null
    order by s.standing_id
    -- The end of an agent ends standing grants to it. It waits here, and then finds the grants.
    for share
  );
end
$$;
comment on function artifacts.lock_standing_of(text, text) is
  'The ids of the live standing grants of an agent that promise what it commits under a name. Until '
  'the end of the transaction, it makes no others, and these do not end. Call it before any row is '
  'locked.';

create function artifacts.grant_committed(
  caller jsonb,
  caller_agent text,
  committed artifacts.artifacts,
  promised_ids text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  standing artifacts.standing_grants;
begin
  -- Most commits were promised to nobody.
  if grant_committed.promised_ids = '{}' then
    return;
  end if;
  for standing in
    select s.*
    from artifacts.standing_grants s
    where s.standing_id = any (grant_committed.promised_ids)
    order by s.standing_id
  loop
    perform artifacts.grant_for_standing(caller, caller_agent, standing, committed);
  end loop;
end
$$;
comment on function artifacts.grant_committed(jsonb, text, artifacts.artifacts, text[]) is
  'Makes the grants of a committed artifact; promised_ids is what lock_standing_of returned.';

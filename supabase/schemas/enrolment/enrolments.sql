-- The operator creates and lists enrolments. agents/enrolments.sql has the tables.

create function agents.replace_keys_of_trust(caller jsonb, enrolment_id text, jwks jsonb)
returns agents.enrolments
language plpgsql
volatile
set search_path = ''
as $$
declare
  replaced agents.enrolments;
begin
  update agents.enrolments e
  set jwks = replace_keys_of_trust.jwks
  where e.enrolment_id = replace_keys_of_trust.enrolment_id
    and e.jwks is not null
    and e.revoked_at is null
  returning * into replaced;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "No live enrolment with this identifier has jwks."}]}';
  end if;
  perform agents.record_event(
    replace_keys_of_trust.caller, null, 'enrolment.keys_replaced', null, replaced.enrolment_id
  );
  return replaced;
end
$$;
comment on function agents.replace_keys_of_trust(jsonb, text, jsonb) is
  'Replaces the issuer''s public keys that a trust has. From now on, tokens are verified with the '
  'new ones. The trust''s agents and their agent keys stay. Raises invalid_request.';

create function public.agent_api_put_enrolment(caller jsonb, enrolment jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  enrolment_key constant text := 'ek_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  has_key constant boolean := agent_api_put_enrolment.enrolment ->> 'kind' = 'key';
  made agents.enrolments;
begin
  perform agents.authenticate_operator(agent_api_put_enrolment.caller);
  if has_key and coalesce(agent_api_put_enrolment.enrolment ->> 'uses_left', 'any') <> '1' and num_nulls(
    agent_api_put_enrolment.enrolment ->> 'agent_id',
    agent_api_put_enrolment.enrolment ->> 'agent_template',
    agent_api_put_enrolment.enrolment ->> 'agent_prefix'
  ) = 3 then
    -- Whoever has the key could take any name that is free.
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_prefix", "message": "An enrolment key for more than one use needs agent_prefix, agent_template or agent_id."}]}';
  end if;
  if agent_api_put_enrolment.enrolment ->> 'enrolment_id' is not null then
    return agents.enrolment_json(agents.replace_keys_of_trust(
      agent_api_put_enrolment.caller,
      agent_api_put_enrolment.enrolment ->> 'enrolment_id',
      agent_api_put_enrolment.enrolment -> 'jwks'
    ));
  end if;
  insert into agents.enrolments (
    enrolment_id, kind, label, key_hash, issuer, audience, jwks, conditions, agent_id,
    agent_template, agent_prefix, tags, uses_left, session_seconds, ephemeral_seconds,
    single_use_tokens, max_token_age_seconds, max_agents, max_instances, quota_bytes, expires_at
  )
  select
    'enr_' || replace(gen_random_uuid()::text, '-', ''),
    e.kind,
    e.label,
    case when has_key then encode(sha256(convert_to(enrolment_key, 'UTF8')), 'hex') end,
    e.issuer,
    e.audience,
    e.jwks,
    e.conditions,
    e.agent_id,
    e.agent_template,
    e.agent_prefix,
    coalesce(e.tags, '{}'),
    e.uses_left,
    e.session_seconds,
    e.ephemeral_seconds,
    coalesce(e.single_use_tokens, false),
    e.max_token_age_seconds,
    coalesce(e.max_agents, 1000),
    coalesce(e.max_instances, 1),
    e.quota_bytes,
    e.expires_at
  from jsonb_to_record(agent_api_put_enrolment.enrolment) as e (
    kind text,
    label text,
    issuer text,
    audience text,
    jwks jsonb,
    conditions jsonb,
    agent_id text,
    agent_template text,
    agent_prefix text,
    tags text[],
    uses_left integer,
    session_seconds integer,
    ephemeral_seconds integer,
    single_use_tokens boolean,
    max_token_age_seconds integer,
    max_agents integer,
    max_instances integer,
    quota_bytes bigint,
    expires_at timestamptz
  )
  returning * into made;
  perform agents.record_event(
    agent_api_put_enrolment.caller, null, 'enrolment.created', null, made.enrolment_id,
    -- Without the label, which may name an agent: an erasure would not find the name here.
    jsonb_build_object('kind', made.kind)
  );
  return agents.enrolment_json(made)
    || case when has_key then jsonb_build_object('enrolment_key', enrolment_key) else '{}' end;
end
$$;
comment on function public.agent_api_put_enrolment(jsonb, jsonb) is
  'Creates an enrolment with these fields and returns it. For kind key, the answer contains '
  'enrolment_key, once: only its hash is stored. With enrolment_id, replaces the jwks of that '
  'trust. Raises invalid_request, and forbidden for an agent.';

create function public.agent_api_list_enrolments(caller jsonb, max_entries integer, after text default null)
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  page agents.enrolments[];
begin
  perform agents.authenticate_operator(agent_api_list_enrolments.caller);
  page := array(
    select e
    from agents.enrolments e
    where agent_api_list_enrolments.after is null
      or (e.created_at, e.enrolment_id) > (
        select l.created_at, l.enrolment_id
        from agents.enrolments l
        where l.enrolment_id = agent_api_list_enrolments.after
      )
    order by e.created_at, e.enrolment_id
    limit agent_api_list_enrolments.max_entries + 1
  );
  return json_build_object(
    'enrolments', (
      select coalesce(json_agg(agents.enrolment_json(p)), '[]')
      from unnest(page[:agent_api_list_enrolments.max_entries]) p
    ),
    'next_cursor', case
      when cardinality(page) > agent_api_list_enrolments.max_entries
      then page[agent_api_list_enrolments.max_entries].enrolment_id
    end
  );
end
$$;
comment on function public.agent_api_list_enrolments(jsonb, integer, text) is
  'Enrolments, oldest first: {enrolments, next_cursor | null}. after is a next_cursor; if its '
  'enrolment no longer exists, the page is empty. Raises forbidden for an agent.';

create function public.agent_api_list_trusts(issuer text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(
    json_agg(agents.enrolment_json(e) order by e.created_at, e.enrolment_id), '[]'
  )
  from agents.enrolments e
  where e.issuer = agent_api_list_trusts.issuer
    and e.kind = 'trust'
    and e.revoked_at is null
    and (e.expires_at is null or e.expires_at > now())
$$;
comment on function public.agent_api_list_trusts(text) is
  'The live enrolments that trust an issuer, oldest first.';

create function agents.live_enrolment(enrolment_id text) returns agents.enrolments
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_enrolment agents.enrolments;
begin
  perform pg_advisory_xact_lock_shared(agents.enrolment_lock(live_enrolment.enrolment_id));
  -- A separate statement, so that it sees a revocation that the lock waited for.
  select * into found_enrolment
  from agents.enrolments e
  where e.enrolment_id = live_enrolment.enrolment_id
    and e.revoked_at is null
    and (e.expires_at is null or e.expires_at > clock_timestamp());
  return found_enrolment;
end
$$;
comment on function agents.live_enrolment(text) is
  'An enrolment that was not revoked and has not expired; it cannot be revoked before the '
  'transaction ends. Null: there is no such enrolment.';

create function agents.end_enrolled_tags(caller jsonb, agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  came_by constant text := (
    select a.enrolment_id
    from agents.enrolled_agents a
    where a.agent_id = end_enrolled_tags.agent_id
  );
begin
  if came_by is not null then
    perform agents.replace_tags(
      jsonb_build_object('kind', 'enrolment', 'request_id', end_enrolled_tags.caller -> 'request_id'),
      end_enrolled_tags.agent_id, '{}', came_by
    );
  end if;
end
$$;
comment on function agents.end_enrolled_tags(jsonb, text) is
  'Removes the tags that an agent''s enrolment gave it. The operator''s tags stay.';

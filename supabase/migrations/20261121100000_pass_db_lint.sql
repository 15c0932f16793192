-- What `supabase db lint` complained of: arrays that began as a text without a type, and a Vault that a database without
-- it was asked for by name. The functions do what they did.

create or replace function mesh.update_peer(
  before mesh.peers,
  pubkey text,
  endpoint text,
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  after mesh.peers;
  changed_texts text[] := array[]::text[];
  own_text_changed boolean;
begin
  update mesh.peers p
  set pubkey = update_peer.pubkey,
      endpoint = update_peer.endpoint,
      listen_port = update_peer.listen_port,
      updated_at = clock_timestamp()
  where p.agent_id = (update_peer.before).agent_id
  returning p.* into after;

  if after.pubkey <> (update_peer.before).pubkey then
    -- Who knew the old private key must not know the PSKs of the new one, whether the pair sees each other now or not.
    perform mesh.lock_pairs(after.agent_id);
    -- A PSK that is still to be made was given to nobody: if that one were replaced too, an agent that changes its pubkey
    -- again and again could keep its neighbours from ever getting one.
    with replaced as (
      update mesh.pairs p
      set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = clock_timestamp()
      where (p.low_agent = after.agent_id or p.high_agent = after.agent_id) and p.encrypted_psk is not null
      returning p.*
    )
    select coalesce(bool_or(array[r.low_agent::text, r.high_agent::text] && update_peer.visible_peers), false)
    into own_text_changed
    from replaced r;
    changed_texts := update_peer.visible_peers;
    -- It does not say the agent's own pubkey, only the PSKs.
    if own_text_changed then
      changed_texts := changed_texts || after.agent_id::text;
    end if;
  end if;
  if after.endpoint is distinct from (update_peer.before).endpoint then
    changed_texts := changed_texts || update_peer.visible_peers;
  end if;
  if after.effective_listen_port is distinct from (update_peer.before).effective_listen_port then
    changed_texts := changed_texts || after.agent_id::text;
  end if;
  perform mesh.raise_config_versions(changed_texts);
end
$$;

create or replace function public.revoke_grants(caller jsonb, artifact_id text, to_agent text, grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(revoke_grants.caller);
  revoked artifacts.grants;
  revoked_ids text[] := array[]::text[];
begin
  if revoke_grants.grant_id is not null then
    -- Whatever else the request names must be that grant's own.
    perform from artifacts.grants g
    join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.grant_id = revoke_grants.grant_id
      and (caller_agent is null or a.agent_id = caller_agent)
      and g.artifact_id = coalesce(revoke_grants.artifact_id, g.artifact_id)
      and g.to_agent = coalesce(revoke_grants.to_agent, g.to_agent);
    if not found then
      raise sqlstate 'PT404' using message = 'grant_not_found';
    end if;
  else
    -- The lock makes a grant that is being written now wait, or be seen.
    perform artifacts.lock_owned_artifact(caller_agent, revoke_grants.artifact_id);
  end if;

  for revoked in
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where (
        g.grant_id = revoke_grants.grant_id
        or (
          revoke_grants.grant_id is null
          and g.artifact_id = revoke_grants.artifact_id
          and g.to_agent = revoke_grants.to_agent
        )
      )
      and g.revoked_at is null
      and g.expires_at > clock_timestamp()
    returning g.*
  loop
    perform agents.record_event(
      revoke_grants.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
      jsonb_build_object('artifact_id', revoked.artifact_id)
    );
    revoked_ids := revoked_ids || revoked.grant_id;
  end loop;

  return json_build_object('revoked', cardinality(revoked_ids), 'grant_ids', to_json(revoked_ids));
end
$$;

create or replace function public.schedule_sweep(
  schedule text default '*/10 * * * *',
  url_secret text default 'project_url',
  key_secret text default 'secret_key'
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  missing text[] := array[]::text[];
  secret text;
  is_stored boolean;
  -- Read at every run, so that a rotated key needs no new schedule, and so that no key stands in cron's own table.
  read_secret constant text := '(select decrypted_secret from vault.decrypted_secrets where name = %L)';
begin
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('cron') and p.proname = 'schedule'
  ) then
    missing := missing || 'the extension pg_cron'::text;
  end if;
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('net') and p.proname = 'http_post'
  ) then
    missing := missing || 'the extension pg_net'::text;
  end if;
  if to_regclass('vault.decrypted_secrets') is null then
    missing := missing || 'the extension supabase_vault'::text;
  else
    foreach secret in array array[schedule_sweep.url_secret, schedule_sweep.key_secret] loop
      -- A schema that `format` puts in is not looked for before this runs, where it may not be.
      execute format('select exists (select from %I.decrypted_secrets where name = $1)', 'vault')
      into is_stored using secret;
      if not is_stored then
        missing := missing || format('the Vault secret %L', secret);
      end if;
    end loop;
  end if;
  if missing <> '{}' then
    raise object_not_in_prerequisite_state using
      message = 'The sweep cannot be scheduled in this database without: ' || array_to_string(missing, ', ') || '.',
      hint = 'See docs/retention.md.';
  end if;

  -- A job of this name is replaced.
  execute format('select %I.schedule($1, $2, $3)', 'cron') using
    'agent-artifacts-sweep',
    schedule_sweep.schedule,
    format(
      'select net.http_post('
      || 'url := ' || read_secret || ' || ''/functions/v1/agent-artifacts/sweep'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', ' || read_secret || '), '
      || 'body := ''{"limit": 1000}''::jsonb, '
      || 'timeout_milliseconds := 60000)',
      schedule_sweep.url_secret,
      schedule_sweep.key_secret
    );
  return json_build_object('job', 'agent-artifacts-sweep', 'schedule', schedule_sweep.schedule);
end
$$;

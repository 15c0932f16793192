-- When the sweep runs. The database can schedule it if the project has pg_cron, pg_net and two
-- secrets in its Vault. Extensions are named only in dynamic SQL, so that this file applies without
-- them, too.

create table artifacts.sweeps (
  only_row boolean primary key default true,
  installed_at timestamptz not null default now(),
  schedule text,
  swept_at timestamptz,

  constraint there_is_only_one_row check (only_row)
);
comment on table artifacts.sweeps is
  'One row: when the sweep is scheduled, and when it last ran. pg_cron shows a schedule only to '
  'the role that created it.';
comment on column artifacts.sweeps.schedule is
  'What agent_api_schedule_sweep last gave pg_cron; null: never.';
comment on column artifacts.sweeps.swept_at is 'When a call of /sweep last finished; null: never.';

insert into artifacts.sweeps default values;

create function public.agent_api_schedule_sweep(
  schedule text default '*/2 * * * *',
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
  -- Every run reads the secrets. So a rotated key needs no new schedule, and pg_cron's own table
  -- contains no key.
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
    foreach secret in array array[agent_api_schedule_sweep.url_secret, agent_api_schedule_sweep.key_secret] loop
      -- The schema may be missing. `supabase db lint` checks constant dynamic SQL, so `format`
      -- hides the schema's name until this runs.
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

  -- This replaces an existing job of the same name.
  execute format('select %I.schedule($1, $2, $3)', 'cron') using
    'agent-artifacts-sweep',
    agent_api_schedule_sweep.schedule,
    format(
      'select net.http_post('
      || 'url := ' || read_secret || ' || ''/functions/v1/agent-artifacts/sweep'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', ' || read_secret || '), '
      || 'body := ''{"limit": 1000}''::jsonb, '
      || 'timeout_milliseconds := 60000), agents.kick_deliveries()',
      agent_api_schedule_sweep.url_secret,
      agent_api_schedule_sweep.key_secret
    );
  -- From now on, pg_net is also told of deliveries to webhooks.
  update agents.webhook_kicks k
  set url_secret = agent_api_schedule_sweep.url_secret, key_secret = agent_api_schedule_sweep.key_secret
  where k.only_row;
  update artifacts.sweeps s set schedule = agent_api_schedule_sweep.schedule where s.only_row;
  return json_build_object('job', 'agent-artifacts-sweep', 'schedule', agent_api_schedule_sweep.schedule);
end
$$;
comment on function public.agent_api_schedule_sweep(text, text, text) is
  'Makes pg_cron call /sweep on a schedule through pg_net, with the URL and the secret key that '
  'Vault stores under these names. A later call replaces the schedule. Raises '
  'object_not_in_prerequisite_state, which says what is missing.';

do $$
begin
  perform public.agent_api_schedule_sweep();
exception when object_not_in_prerequisite_state then
  raise notice '%', sqlerrm;
end
$$;

import type postgres from "postgres";

/** Installs the parts of pg_cron, pg_net and the Vault that a schedule of the sweep uses. */
export async function installExtensionStandIns(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema cron;
    create table cron.job (jobname text primary key, schedule text, command text);
    create function cron.schedule(job_name text, schedule text, command text) returns bigint
    language sql as $$
      insert into cron.job values (job_name, schedule, command)
      on conflict (jobname) do update set schedule = excluded.schedule, command = excluded.command
      returning 1
    $$;
    create function cron.unschedule(job_name text) returns boolean
    language sql as $$
      delete from cron.job where jobname = job_name returning true
    $$;
    create schema net;
    create function net.http_post(
      url text,
      body jsonb default '{}',
      params jsonb default '{}',
      headers jsonb default '{}',
      timeout_milliseconds integer default 5000
    ) returns json
    language sql as $$
      select json_build_object(
        'url', url, 'body', body, 'headers', headers, 'timeout', timeout_milliseconds
      )
    $$;
    create schema vault;
    create table vault.decrypted_secrets (decrypted_secret text, name text unique);
    create function vault.create_secret(new_secret text, new_name text) returns void
    language sql as $$
      insert into vault.decrypted_secrets values (new_secret, new_name)
    $$`);
}

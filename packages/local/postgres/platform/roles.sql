-- The roles of a stock Supabase database. Roles belong to the whole cluster. The stack sets their
-- passwords.

create role anon nologin noinherit;
create role authenticated nologin noinherit;
create role service_role nologin noinherit bypassrls;

-- PostgREST connects with this role and switches to the role of the request's JWT.
create role authenticator login noinherit;
grant anon, authenticated, service_role to authenticator;

-- Runs the migrations. Not a superuser.
create role postgres login createrole createdb bypassrls;
grant anon, authenticated, service_role to postgres with admin option;
grant pg_monitor, pg_signal_backend to postgres;

create role supabase_storage_admin login noinherit createrole;

-- The timeouts of a hosted project. service_role has none of its own, so authenticator's apply.
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';

alter role postgres set search_path = "$user", public, extensions;
alter role supabase_admin set search_path = "$user", public, extensions;
alter role supabase_storage_admin set search_path = storage;

-- The schemas of a stock Supabase database, before storage's own tables and the project's
-- migrations.

create schema extensions authorization postgres;
create extension pgcrypto with schema extensions;
create extension "uuid-ossp" with schema extensions;
grant usage on schema extensions to anon, authenticated, service_role;
grant execute on all functions in schema extensions to anon, authenticated, service_role;

grant create on schema public to postgres;
grant usage on schema public to postgres, anon, authenticated, service_role;

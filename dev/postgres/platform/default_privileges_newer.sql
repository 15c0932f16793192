-- Newer projects: nothing that a migration creates in public is granted to anybody, service_role included. Functions
-- keep PostgreSQL's own default, which lets everybody execute them.

alter default privileges for role postgres in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on functions from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on sequences from anon, authenticated, service_role;

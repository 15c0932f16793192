-- Newer projects: nobody may use what a migration creates in public, not even service_role.
-- Functions keep PostgreSQL's own default: everybody may execute them.

alter default privileges for role postgres in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on functions from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on sequences from anon, authenticated, service_role;

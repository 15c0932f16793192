-- Newer projects: what a migration creates in public is granted to nobody, not to service_role
-- either. Functions keep PostgreSQL's own default: everybody may execute them.

alter default privileges for role postgres in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on functions from anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  revoke all on sequences from anon, authenticated, service_role;

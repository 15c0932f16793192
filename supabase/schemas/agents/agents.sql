-- What both functions share about agents: agent keys, the event log, and the identification of
-- callers.
-- An agent is only an identifier: it exists as soon as something names it.

create schema agents;
comment on schema agents is
  'Agent keys, the event log, and the identification of callers. Not exposed by the API.';

create function agents.own_schemas() returns text[]
language sql
immutable
return array['agents', 'artifacts', 'mesh'];
comment on function agents.own_schemas() is
  'The schemas that contain only this project''s objects. In public, the project has only '
  'functions, whose names begin with agent_api_.';

create function agents.is_agent_id(name text) returns boolean
language sql
immutable
-- Check the length separately: matching {0,127} takes ten times as long, and a request writes many
-- identifiers.
return length(is_agent_id.name) <= 128
  and is_agent_id.name collate "C" ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$';
comment on function agents.is_agent_id(text) is 'Whether this can be an agent''s identifier.';

create domain agents.agent_id as text collate "C"
  constraint agent_id_is_well_formed check (agents.is_agent_id(value));
comment on domain agents.agent_id is
  'An agent''s identifier. In byte order (collate "C"), because agents see lists in this order.';

create function agents.iso_timestamp(instant timestamptz) returns text
language sql
stable
-- PostgreSQL resolves the names in an SQL-standard body when it creates the function. So the
-- function needs no search_path, and can be inlined.
return to_char(iso_timestamp.instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function agents.iso_timestamp(timestamptz) is
  'The format of every timestamp in an answer: ISO 8601, UTC, milliseconds, Z.';

create function agents.access_lock(agent_id text) returns bigint
language sql
immutable
return hashtextextended('access of ' || agent_id, 0);
comment on function agents.access_lock(text) is
  'The advisory lock of an agent''s access. The agent''s writes take it in shared mode, and ending '
  'its access takes it exclusively. A transaction takes it before every other lock except '
  'enrolment_lock.';

create function agents.end_access(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(agents.access_lock(end_access.agent_id));
end
$$;
comment on function agents.end_access(text) is
  'Call this before the first change of a transaction that ends an agent''s keys or its access as '
  'a user: it waits for the agent''s admitted writes, and holds back new ones.';

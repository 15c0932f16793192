-- Made of supabase/schemas/agents/agents.sql by `deno task schema:squash`.

-- What both functions share about agents: their keys, the log of events, and who is calling.
-- An agent is an identifier and nothing else: it exists as soon as somebody names it.

create schema agents;
comment on schema agents is
  'Agent keys, the event log, and the identification of callers. Not exposed by the API.';

create domain agents.agent_id as text collate "C"
  -- The length apart: to match {0,127} takes ten times as long, and a request writes many of these.
  constraint agent_id_is_well_formed check (
    length(value) <= 128 and value ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$'
  );
comment on domain agents.agent_id is
  'An agent''s identifier. Byte order (collate "C"), because the order of agents is part of what '
  'they read.';

create function agents.iso_timestamp(instant timestamptz) returns text
language sql
stable
-- An SQL-standard body has its names fixed when it is made, needs no search_path, and is inlined.
return to_char(iso_timestamp.instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function agents.iso_timestamp(timestamptz) is
  'How every answer writes a timestamp: ISO 8601, UTC, milliseconds, Z.';

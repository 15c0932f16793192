-- What hosts report about connections that no rule allows. Only where the operator asks for it.

create function mesh.note_refused(
  caller jsonb,
  caller_agent text,
  agent_id text,
  refused jsonb,
  events_per_hour integer
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  attempt record;
  began_at timestamptz;
  told integer;
  told_before integer;
begin
  select v.refusals_since, v.refusals_told into began_at, told
  from mesh.config_versions v
  where v.agent_id = note_refused.agent_id
  for no key update;
  if began_at is null or began_at <= clock_timestamp() - interval '1 hour' then
    began_at := clock_timestamp();
    told := 0;
  end if;
  told_before := told;
  for attempt in
    select r.agent_id, r.port, r.proto, r.attempts
    from jsonb_to_recordset(note_refused.refused)
      as r (agent_id text, port integer, proto text, attempts integer)
    -- So an agent can neither name one that it does not know, nor one that does not know it.
    where mesh.see_each_other(note_refused.agent_id, r.agent_id)
    limit greatest(note_refused.events_per_hour - told, 0)
  loop
    perform agents.record_event(
      note_refused.caller, note_refused.caller_agent, 'connection.refused', note_refused.agent_id,
      null,
      jsonb_build_object(
        'port', attempt.port, 'proto', attempt.proto, 'attempts', attempt.attempts
      ),
      attempt.agent_id
    );
    told := told + 1;
  end loop;
  if told > told_before then
    update mesh.config_versions v
    set refusals_since = began_at, refusals_told = told
    where v.agent_id = note_refused.agent_id;
  end if;
end
$$;
comment on function mesh.note_refused(jsonb, text, text, jsonb, integer) is
  'Writes an event for each refused connection that an agent''s host reports: refused is '
  '[{agent_id, port | null, proto, attempts}]. At most events_per_hour of an agent, and only about '
  'agents that share an active rule with it; ignores the others. Call it before note_paths: it '
  'locks the agent''s config_version, which comes before paths.';

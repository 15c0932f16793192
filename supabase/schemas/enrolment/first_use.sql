-- The first use of a key from an enrolment, which ends the keys of the generations before it, and
-- of a name by a user.

create function public.agent_api_note_first_use(caller jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  used agents.keys;
  superseded agents.keys;
begin
  if agent_api_note_first_use.caller ->> 'kind' = 'user' then
    -- Gives the name to the project's users.
    perform agents.admit(agent_api_note_first_use.caller);
    return json_build_object('superseded', 0);
  end if;
  select * into used
  from agents.keys k
  where k.key_hash = agent_api_note_first_use.caller ->> 'key_hash';
  perform agents.end_access(used.agent_id);
  update agents.keys k
  set first_used_at = clock_timestamp()
  where k.key_id = used.key_id
    and k.enrolment_id is not null
    and k.first_used_at is null
    and k.revoked_at is null;
  if not found then
    return json_build_object('superseded', 0);
  end if;
  for superseded in
    update agents.keys k
    set revoked_at = clock_timestamp(), superseded_at = clock_timestamp()
    where k.agent_id = used.agent_id
      and k.generation < used.generation
      and agents.is_same_place(used.enrolment_id, k.instance, used.instance)
      and k.revoked_at is null
    returning *
  loop
    perform agents.record_event(
      agent_api_note_first_use.caller, used.agent_id, 'key.superseded', superseded.agent_id,
      superseded.key_id,
      jsonb_strip_nulls(jsonb_build_object(
        'generation', superseded.generation, 'instance', superseded.instance
      ))
    );
  end loop;
  return json_build_object('superseded', 1);
end
$$;
comment on function public.agent_api_note_first_use(jsonb) is
  'Records that the calling key from an enrolment was used, and ends the keys of earlier '
  'generations of this instance; or that a user was the first to use a name. Idempotent.';

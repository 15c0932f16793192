create function public.rotate_psk(caller jsonb, a text, b text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := mesh.authenticate_as_one_of(rotate_psk.caller, rotate_psk.a, rotate_psk.b);
  pair mesh.pairs;
  asked_at timestamptz;
begin
  perform mesh.lock_both(rotate_psk.a, rotate_psk.b);

  -- That the pair has a row says that both are registered.
  select p.* into pair
  from mesh.pairs p
  where p.low_agent = least(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and p.high_agent = greatest(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and mesh.see_each_other(rotate_psk.a, rotate_psk.b)
  for update;
  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  asked_at := clock_timestamp();
  -- A PSK that is still to be made was given to nobody, and nobody can have the one before it any more. If the version
  -- rose, an agent that rotates again and again could keep the other from ever getting a PSK.
  if pair.encrypted_psk is not null then
    update mesh.pairs p
    set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = asked_at
    where p.low_agent = pair.low_agent and p.high_agent = pair.high_agent
    returning p.* into pair;
    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);
    perform agents.record_event(
      rotate_psk.caller, caller_agent, 'psk.rotated', pair.low_agent, null,
      jsonb_build_object('high_agent', pair.high_agent, 'psk_version', pair.psk_version)
    );
  end if;
  return json_build_object(
    'a', rotate_psk.a,
    'b', rotate_psk.b,
    'psk_version', pair.psk_version,
    'rotated_at', agents.iso_timestamp(asked_at)
  );
end
$$;
comment on function public.rotate_psk(jsonb, text, text) is
  'Replaces the PSK of a pair; the next configuration of either side makes the new one. While the newest is still to be made, nothing changes and the answer names it. rotated_at is the time of this call in either case: no PSK that anybody was given before holds after it. Raises forbidden, and peer_not_found where the two do not see each other, whatever the reason.';

revoke all on function public.rotate_psk(jsonb, text, text) from public, anon, authenticated;
grant execute on function public.rotate_psk(jsonb, text, text) to service_role;

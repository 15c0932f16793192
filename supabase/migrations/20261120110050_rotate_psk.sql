create function public.rotate_psk(caller jsonb, a text, b text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := mesh.authenticate_as_one_of(rotate_psk.caller, rotate_psk.a, rotate_psk.b);
  rotated mesh.pairs;
begin
  perform mesh.lock_both(rotate_psk.a, rotate_psk.b);

  -- That the pair has a row says that both are registered.
  update mesh.pairs p
  set psk_version = p.psk_version + 1, sealed_psk = null, rotated_at = clock_timestamp()
  where p.low_agent = least(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and p.high_agent = greatest(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and mesh.see_each_other(rotate_psk.a, rotate_psk.b)
  returning p.* into rotated;
  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  perform mesh.raise_config_versions(array[rotated.low_agent, rotated.high_agent]);
  perform agents.record_event(
    rotate_psk.caller, caller_agent, 'psk.rotated', rotated.low_agent, null,
    jsonb_build_object('high_agent', rotated.high_agent, 'psk_version', rotated.psk_version)
  );
  return json_build_object(
    'a', rotate_psk.a,
    'b', rotate_psk.b,
    'psk_version', rotated.psk_version,
    'rotated_at', agents.iso_timestamp(rotated.rotated_at)
  );
end
$$;
comment on function public.rotate_psk(jsonb, text, text) is
  'Replaces the PSK of a pair; the next configuration of either side makes the new one. Raises forbidden, and peer_not_found where the two do not see each other, whatever the reason.';

revoke all on function public.rotate_psk(jsonb, text, text) from public, anon, authenticated;
grant execute on function public.rotate_psk(jsonb, text, text) to service_role;

-- Sealing PSKs under a newer key (`deno task psk:reseal`). For the operator alone; no configuration changes.

create function public.list_psks_to_reseal(newest_key_id text, max_entries integer) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(sealed), '[]')
  from (
    select p.low_agent, p.high_agent, p.psk_version, p.sealed_psk
    from mesh.pairs p
    where p.sealed_psk is not null
      and p.sealing_key_id <> list_psks_to_reseal.newest_key_id
    limit list_psks_to_reseal.max_entries
  ) sealed
$$;
comment on function public.list_psks_to_reseal(text, integer) is
  'Some of the PSKs that are sealed under another key than the newest: [{low_agent, high_agent, psk_version, sealed_psk}].';

create function public.reseal_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  resealed_count integer;
begin
  -- In the order in which store_psks and its like lock pairs.
  perform from mesh.pairs p
  join jsonb_to_recordset(reseal_psks.psks) as named (low_agent text, high_agent text)
    on named.low_agent = p.low_agent and named.high_agent = p.high_agent
  order by p.low_agent, p.high_agent
  for update of p;

  update mesh.pairs p
  set sealed_psk = resealed.resealed_psk
  from jsonb_to_recordset(reseal_psks.psks)
    as resealed (low_agent text, high_agent text, sealed_psk text, resealed_psk text)
  where p.low_agent = resealed.low_agent
    and p.high_agent = resealed.high_agent
    -- Unless it was replaced in between.
    and p.sealed_psk = resealed.sealed_psk;
  get diagnostics resealed_count = row_count;

  return json_build_object('resealed', resealed_count);
end
$$;
comment on function public.reseal_psks(jsonb) is
  'Exchanges sealed PSKs: psks is [{low_agent, high_agent, sealed_psk, resealed_psk}], the same PSK sealed twice. Returns how many: {resealed}.';

revoke all on function
  public.list_psks_to_reseal(text, integer),
  public.reseal_psks(jsonb)
from public, anon, authenticated;

grant execute on function
  public.list_psks_to_reseal(text, integer),
  public.reseal_psks(jsonb)
to service_role;

-- Encryption PSKs under a newer key (`deno task psk:reencrypt`). For the operator alone; no configuration changes.

create function public.list_psks_to_reencrypt(newest_key_id text, max_entries integer) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(encrypted), '[]')
  from (
    select p.low_agent, p.high_agent, p.psk_version, p.encrypted_psk
    from mesh.pairs p
    where p.encrypted_psk is not null
      and p.encryption_key_id <> list_psks_to_reencrypt.newest_key_id
    limit list_psks_to_reencrypt.max_entries
  ) encrypted
$$;
comment on function public.list_psks_to_reencrypt(text, integer) is
  'Some of the PSKs that are encrypted under another key than the newest: [{low_agent, high_agent, psk_version, encrypted_psk}].';

create function public.reencrypt_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  -- In the order in which store_psks and its like lock pairs.
  perform from mesh.pairs p
  join jsonb_to_recordset(reencrypt_psks.psks) as named (low_agent text, high_agent text)
    on named.low_agent = p.low_agent and named.high_agent = p.high_agent
  order by p.low_agent, p.high_agent
  for update of p;

  update mesh.pairs p
  set encrypted_psk = reencrypted.reencrypted_psk
  from jsonb_to_recordset(reencrypt_psks.psks)
    as reencrypted (low_agent text, high_agent text, encrypted_psk text, reencrypted_psk text)
  where p.low_agent = reencrypted.low_agent
    and p.high_agent = reencrypted.high_agent
    -- Unless it was replaced in between.
    and p.encrypted_psk = reencrypted.encrypted_psk;
  get diagnostics reencrypted_count = row_count;

  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.reencrypt_psks(jsonb) is
  'Exchanges encrypted PSKs: psks is [{low_agent, high_agent, encrypted_psk, reencrypted_psk}], the same PSK encrypted twice. Returns how many: {reencrypted}.';

revoke all on function
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb)
from public, anon, authenticated;

grant execute on function
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb)
to service_role;

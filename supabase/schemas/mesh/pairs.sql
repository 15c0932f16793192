-- Pairs of peers, and the PSK of each pair.

create table mesh.pairs (
  low_agent agents.agent_id not null,
  high_agent agents.agent_id not null,
  psk_version integer not null default 1,
  encrypted_psk text collate "C",
  encrypted_version integer,
  encryption_key_id text collate "C" generated always as (split_part(encrypted_psk, '.', 2)) stored,
  made_at timestamptz,
  rotated_at timestamptz,

  constraint a_pair_has_one_psk primary key (low_agent, high_agent),
  constraint a_pair_is_in_canonical_order check (low_agent < high_agent),
  constraint low_agent_is_registered foreign key (low_agent) references mesh.peers (agent_id),
  constraint high_agent_is_registered foreign key (high_agent) references mesh.peers (agent_id),
  constraint psk_is_encrypted check (encrypted_psk ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint made_at_is_set_when_made check (encrypted_psk is null or made_at is not null)
);
comment on table mesh.pairs is
  'One row per two peers that have seen each other since both registered. The row stays when they '
  'no longer see each other, and is deleted with either peer.';
comment on column mesh.pairs.psk_version is
  'Counts the PSKs of the pair: 1 for the first. To replace a PSK, the version is raised and '
  'encrypted_psk becomes null. While encrypted_psk is null, nobody was given a PSK of this '
  'version, so the version is not raised again.';
comment on column mesh.pairs.encrypted_psk is
  'v1.<id of the encryption key>.<base64>, encrypted by the function: the database never sees a '
  'PSK. Null until the next configuration of either side makes the PSK.';
comment on column mesh.pairs.encrypted_version is
  'The version inside encrypted_psk, if the pair had a newer version when it was stored. Null: '
  'psk_version.';
comment on column mesh.pairs.made_at is 'When the newest PSK was made; null before the first.';
comment on column mesh.pairs.rotated_at is 'When psk_version was last raised.';

create index pairs_by_high_agent on mesh.pairs (high_agent);
-- Also finds the oldest PSK of each encryption key.
create index pairs_by_encryption_key on mesh.pairs (encryption_key_id, made_at) where encrypted_psk is not null;

create function mesh.lock_pairs(agent_id text, other_agents text[] default null) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.pairs p
  where (p.low_agent = lock_pairs.agent_id or p.high_agent = lock_pairs.agent_id)
    and (
      lock_pairs.other_agents is null
      or p.low_agent = any (lock_pairs.other_agents)
      or p.high_agent = any (lock_pairs.other_agents)
    )
  order by p.low_agent, p.high_agent
  for update;
end
$$;
comment on function mesh.lock_pairs(text, text[]) is
  'Step 4 of the lock order: the pairs of an agent with these others, or with anybody.';

create function mesh.pairs_of(agent_id text, other_agents text[])
returns table (
  other_agent text,
  psk_version integer,
  encrypted_psk text,
  encrypted_version integer,
  made_at timestamptz
)
language sql
stable
begin atomic
  select p.high_agent, p.psk_version, p.encrypted_psk, p.encrypted_version, p.made_at
  from mesh.pairs p
  where p.low_agent = pairs_of.agent_id and p.high_agent = any (pairs_of.other_agents)
  union all
  select p.low_agent, p.psk_version, p.encrypted_psk, p.encrypted_version, p.made_at
  from mesh.pairs p
  where p.high_agent = pairs_of.agent_id and p.low_agent = any (pairs_of.other_agents);
end;
comment on function mesh.pairs_of(text, text[]) is 'The pairs of an agent with these others.';

create function mesh.missing_for_psk(one_agent text, other_agent text) returns text
language sql
stable
set search_path = ''
as $$
  select case
    when count(*) = 0 then 'The two share no active rule. Each side agrees to one with /acl/put.'
    else 'Not registered: ' || string_agg(m.agent_id, ', ' order by m.agent_id)
      || '. An agent joins with /peer/register.'
  end
  from unnest(array[missing_for_psk.one_agent, missing_for_psk.other_agent]) as m (agent_id)
  where not exists (select from mesh.peers p where p.agent_id = m.agent_id)
$$;
comment on function mesh.missing_for_psk(text, text) is
  'Why two agents have no PSK to rotate, as a sentence for the operator.';

create function public.agent_api_list_psks_to_reencrypt(
  newest_key_id text,
  max_entries integer
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(encrypted), '[]')
  from (
    select
      p.low_agent, p.high_agent,
      coalesce(p.encrypted_version, p.psk_version) as encrypted_version, p.encrypted_psk
    from mesh.pairs p
    where p.encrypted_psk is not null
      and p.encryption_key_id <> agent_api_list_psks_to_reencrypt.newest_key_id
    limit agent_api_list_psks_to_reencrypt.max_entries
  ) encrypted
$$;
comment on function public.agent_api_list_psks_to_reencrypt(text, integer) is
  'Some of the PSKs that are not encrypted with the newest key: [{low_agent, high_agent, '
  'encrypted_version, encrypted_psk}].';

create function public.agent_api_reencrypt_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  -- The same order as in every other transaction that locks pairs.
  perform from mesh.pairs p
  join jsonb_to_recordset(agent_api_reencrypt_psks.psks) as named (low_agent text, high_agent text)
    on named.low_agent = p.low_agent and named.high_agent = p.high_agent
  order by p.low_agent, p.high_agent
  for update of p;

  update mesh.pairs p
  set encrypted_psk = reencrypted.reencrypted_psk
  from jsonb_to_recordset(agent_api_reencrypt_psks.psks)
    as reencrypted (low_agent text, high_agent text, encrypted_psk text, reencrypted_psk text)
  where p.low_agent = reencrypted.low_agent
    and p.high_agent = reencrypted.high_agent
    -- The PSK may have been replaced since the caller read it.
    and p.encrypted_psk = reencrypted.encrypted_psk;
  get diagnostics reencrypted_count = row_count;

  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.agent_api_reencrypt_psks(jsonb) is
  'Replaces encrypted PSKs: psks is [{low_agent, high_agent, encrypted_psk, reencrypted_psk}], '
  'the same PSK encrypted with two keys. Returns how many it replaced: {reencrypted}.';

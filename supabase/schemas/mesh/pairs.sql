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
  'Which PSK of the pair this is: 1 for the first. To replace a PSK, the version is raised and '
  'encrypted_psk becomes null. While it is null, nobody was given a PSK of this version, so the '
  'version stays.';
comment on column mesh.pairs.encrypted_psk is
  'v1.<id of the encryption key>.<base64>, encrypted by the function: the database never sees a '
  'PSK. Null until the next configuration of either side makes the PSK.';
comment on column mesh.pairs.encrypted_version is
  'The version inside encrypted_psk, if the pair had a newer version when it was stored. Null: '
  'psk_version.';
comment on column mesh.pairs.made_at is 'When the newest PSK was made; null before the first.';
comment on column mesh.pairs.rotated_at is 'When psk_version was last raised.';

create index pairs_by_high_agent on mesh.pairs (high_agent);
-- Also the oldest PSK of each key.
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

create function public.store_psks(caller jsonb, agent_id text, psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
begin
  subject := agents.require_self(agents.admit(store_psks.caller), store_psks.agent_id);
  perform mesh.lock_pairs(
    subject,
    array(select m.agent_id from jsonb_to_recordset(store_psks.psks) as m (agent_id text))
  );

  with missing as materialized (
    select p.ctid as row_id, m.psk_version, m.encrypted_psk
    from jsonb_to_recordset(store_psks.psks)
      as m (agent_id text, psk_version integer, encrypted_psk text)
    -- One look into the index per PSK. The planner, which knows nothing of the list, might pair all
    -- with all otherwise.
    cross join lateral (
      select p.ctid
      from mesh.pairs p
      where p.low_agent = least(m.agent_id collate "C", subject collate "C")
        and p.high_agent = greatest(m.agent_id collate "C", subject collate "C")
        and p.encrypted_psk is null
      limit 1
    ) p
  )
  update mesh.pairs p
  set encrypted_psk = m.encrypted_psk,
      encrypted_version = nullif(m.psk_version, p.psk_version),
      made_at = clock_timestamp()
  from missing m
  -- Locked above, so that no row has moved since.
  where p.ctid = m.row_id;

  return public.read_wg_config(store_psks.caller, store_psks.agent_id);
end
$$;
comment on function public.store_psks(jsonb, text, jsonb) is
  'Stores PSKs that an agent''s pairs lack: psks is [{agent_id, psk_version, encrypted_psk}]. '
  'Each is stored if its pair has none, even if the pair''s version has risen meanwhile: nobody '
  'was given that PSK before. Otherwise another side could keep an agent waiting by making and '
  'replacing PSKs all the time. Then returns what read_wg_config returns, and raises the same '
  'errors.';

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

create function public.rotate_psk(caller jsonb, a text, b text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  pair mesh.pairs;
  asked_at timestamptz;
begin
  caller_agent := agents.require_one_of(agents.admit(rotate_psk.caller), rotate_psk.a, rotate_psk.b);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[rotate_psk.a, rotate_psk.b]);
  perform mesh.lock_config_versions(array[rotate_psk.a, rotate_psk.b]);

  -- A pair has a row only while both are registered.
  select p.* into pair
  from mesh.pairs p
  where p.low_agent = least(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and p.high_agent = greatest(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and mesh.see_each_other(rotate_psk.a, rotate_psk.b)
  for update;
  if not found then
    if caller_agent is null then
      raise sqlstate 'PT404' using
        message = 'peer_not_found',
        hint = mesh.missing_for_psk(rotate_psk.a, rotate_psk.b);
    end if;
    -- An agent gets no reason: it is not to learn whether the other one is registered.
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  asked_at := clock_timestamp();
  -- While the newest PSK is still to be made, nobody was given it, and nobody gets the one before
  -- it. So there is nothing to replace. If the version rose all the same, an agent that rotates
  -- again and again could keep the other from ever getting a PSK.
  if pair.encrypted_psk is not null then
    update mesh.pairs p
    set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = asked_at
    where p.low_agent = pair.low_agent and p.high_agent = pair.high_agent
    returning p.* into pair;
    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);
    perform agents.record_change(
      rotate_psk.caller, caller_agent, 'psk.rotated', pair.low_agent,
      jsonb_build_object('high_agent', pair.high_agent, 'psk_version', pair.psk_version),
      pair.high_agent
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
  'Replaces the PSK of a pair. The next configuration of either side makes the new one. If the '
  'newest is not made yet, nothing changes, and the answer names it. In either case rotated_at is '
  'the time of this call: no PSK that anybody was given before it stays valid. Raises forbidden, '
  'and peer_not_found if the two do not see each other, whatever the reason.';

create function public.list_psks_to_reencrypt(newest_key_id text, max_entries integer) returns json
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
      and p.encryption_key_id <> list_psks_to_reencrypt.newest_key_id
    limit list_psks_to_reencrypt.max_entries
  ) encrypted
$$;
comment on function public.list_psks_to_reencrypt(text, integer) is
  'Some of the PSKs that are not encrypted with the newest key: [{low_agent, high_agent, '
  'encrypted_version, encrypted_psk}].';

create function public.reencrypt_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  -- In the order in which everybody locks pairs.
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
    -- It may have been replaced in between.
    and p.encrypted_psk = reencrypted.encrypted_psk;
  get diagnostics reencrypted_count = row_count;

  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.reencrypt_psks(jsonb) is
  'Replaces encrypted PSKs: psks is [{low_agent, high_agent, encrypted_psk, reencrypted_psk}], '
  'the same PSK encrypted with two keys. Returns how many it replaced: {reencrypted}.';

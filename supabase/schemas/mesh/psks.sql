-- Storing and rotating the PSKs of pairs.

create function public.agent_api_store_psks(
  caller jsonb, agent_id text, psks jsonb, online_seconds integer default 90
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
begin
  subject := agents.require_self(agents.admit(agent_api_store_psks.caller), agent_api_store_psks.agent_id);
  perform mesh.lock_pairs(
    subject,
    array(select m.agent_id from jsonb_to_recordset(agent_api_store_psks.psks) as m (agent_id text))
  );

  with missing as materialized (
    select p.ctid as row_id, m.psk_version, m.encrypted_psk
    from jsonb_to_recordset(agent_api_store_psks.psks)
      as m (agent_id text, psk_version integer, encrypted_psk text)
    -- `limit 1` forces one index lookup per PSK. Otherwise the planner, which does not know the
    -- list's length, might compare all with all.
    cross join lateral (
      select p.ctid
      from mesh.pairs p
      where p.low_agent = least(m.agent_id collate "C", subject collate "C")
        and p.high_agent = greatest(m.agent_id collate "C", subject collate "C")
        and p.encrypted_psk is null
      limit 1
      -- A pair that was made after the lock above is not locked yet. To wait for it here would be
      -- against the lock order, so it gets its PSK with the next call.
      for update skip locked
    ) p
  )
  update mesh.pairs p
  set encrypted_psk = m.encrypted_psk,
      encrypted_version = nullif(m.psk_version, p.psk_version),
      made_at = clock_timestamp()
  from missing m
  -- The pairs are locked, so their ctid has not changed.
  where p.ctid = m.row_id;

  return public.agent_api_read_wg_config(agent_api_store_psks.caller, agent_api_store_psks.agent_id, agent_api_store_psks.online_seconds);
end
$$;
comment on function public.agent_api_store_psks(jsonb, text, jsonb, integer) is
  'Stores PSKs that an agent''s pairs lack: psks is [{agent_id, psk_version, encrypted_psk}]. Each '
  'is stored if its pair has none, even if the pair''s version has risen meanwhile: nobody was '
  'given that PSK before. Otherwise the other side could keep an agent waiting by making and '
  'replacing PSKs all the time. Then returns what agent_api_read_wg_config returns, and raises the '
  'same errors.';

create function public.agent_api_rotate_psk(caller jsonb, a text, b text) returns json
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
  caller_agent := agents.require_one_of(agents.admit(agent_api_rotate_psk.caller), agent_api_rotate_psk.a, agent_api_rotate_psk.b);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_rotate_psk.a, agent_api_rotate_psk.b]);
  perform mesh.lock_config_versions(array[agent_api_rotate_psk.a, agent_api_rotate_psk.b]);

  -- A pair has a row only while both are registered.
  select p.* into pair
  from mesh.pairs p
  where p.low_agent = least(agent_api_rotate_psk.a collate "C", agent_api_rotate_psk.b collate "C")
    and p.high_agent = greatest(agent_api_rotate_psk.a collate "C", agent_api_rotate_psk.b collate "C")
    and mesh.see_each_other(agent_api_rotate_psk.a, agent_api_rotate_psk.b)
  for update;
  if not found then
    if caller_agent is null then
      raise sqlstate 'PT404' using
        message = 'peer_not_found',
        hint = mesh.missing_for_psk(agent_api_rotate_psk.a, agent_api_rotate_psk.b);
    end if;
    -- An agent gets no reason, because it must not learn whether the other one is registered.
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  asked_at := clock_timestamp();
  -- If the newest PSK is not made yet, nobody was given it, and nobody gets the previous one any
  -- more. So there is nothing to replace. If the version rose anyway, an agent that keeps rotating
  -- could keep the other from ever getting a PSK.
  if pair.encrypted_psk is not null then
    update mesh.pairs p
    set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = asked_at
    where p.low_agent = pair.low_agent and p.high_agent = pair.high_agent
    returning p.* into pair;
    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);
    perform agents.record_change(
      agent_api_rotate_psk.caller, caller_agent, 'psk.rotated', pair.low_agent,
      jsonb_build_object('high_agent', pair.high_agent, 'psk_version', pair.psk_version),
      pair.high_agent
    );
  end if;
  return json_build_object(
    'a', agent_api_rotate_psk.a,
    'b', agent_api_rotate_psk.b,
    'psk_version', pair.psk_version,
    'rotated_at', agents.iso_timestamp(asked_at)
  );
end
$$;
comment on function public.agent_api_rotate_psk(jsonb, text, text) is
  'Replaces the PSK of a pair. The next configuration of either side makes the new one. If the '
  'newest is not made yet, nothing changes, and the answer names it. In either case rotated_at is '
  'the time of this call: no PSK that anybody was given before it stays valid. Raises forbidden, '
  'and peer_not_found if the two do not see each other, whatever the reason.';

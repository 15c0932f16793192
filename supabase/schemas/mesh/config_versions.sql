-- The version of each agent's configuration, and the locks under which it is raised.
--
-- A config_version is raised exactly when the text of the agent's configuration would change. So a
-- function that changes peers, rules or PSK versions must know for certain who sees whom. It takes
-- its locks in this order:
--   1. the agents that it names (lock_agents). Only the holder changes their peers and adds rules
--      that name them. The policy, which names very many, relies on step 2 alone.
--   2. the config_versions of all agents whose text may change, in one statement
--      (lock_config_versions). Two changes that affect the same text run one after the other here,
--      so that the second sees what the first did. Neighbours that are not registered count, too:
--      otherwise two that register at once would miss each other.
--   3. the addresses (lock_addresses), if it assigns some.
--   4. the pairs whose PSK it changes, in one statement (lock_pairs).
-- Within each step, the order is the same in every transaction (in steps 2 to 4, byte order of the
-- identifiers), which prevents deadlocks. Everything a change depends on is read after step 2.

create table mesh.config_versions (
  agent_id agents.agent_id primary key,
  version bigint not null default 0,
  has_false_reports boolean not null default false,
  refusals_since timestamptz,
  refusals_told integer not null default 0,

  constraint refusals_are_told_since_a_time check ((refusals_since is null) = (refusals_told = 0))
)
with (fillfactor = 50);

comment on table mesh.config_versions is
  'A number per agent. Each change of its configuration raises it by one. A row outlives its peer, '
  'so that a version never decreases; agent_api_after_restore raises all of them.';
comment on column mesh.config_versions.has_false_reports is
  'The operator says that the agent reports versions that it never received, so its reports are no '
  'sign of a restore. Here, because a peer that registers again must not remove it.';
comment on column mesh.config_versions.refusals_since is
  'When the hour began in which events about refused connections are counted. Here, too, because a '
  'peer that registers again must not begin another one. Null: there was none.';
comment on column mesh.config_versions.refusals_told is
  'How many events about refused connections the agent has caused in this hour.';

create function mesh.take_turn(caller_agent text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Out of the ten connections, or a few more, that PostgREST has for all callers together.
  turns_per_agent constant integer := 4;
begin
  if take_turn.caller_agent is null then
    return;
  end if;
  for turn in 1..turns_per_agent loop
    if pg_try_advisory_xact_lock(
      hashtextextended('mesh turn ' || turn || ' of ' || take_turn.caller_agent, 0)
    ) then
      return;
    end if;
  end loop;
  raise sqlstate 'PT503' using
    message = 'upstream_unavailable',
    hint = 'Other changes of this agent are under way. Send the same request again.';
end
$$;
comment on function mesh.take_turn(text) is
  'Before step 1: lets an agent make a few changes at once (null, the operator: any number), and '
  'refuses more. More changes would only wait for each other, and each would hold a connection '
  'that other callers need. Raises upstream_unavailable.';

create function mesh.lock_agents(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  lock_key bigint;
begin
  -- In the order of the lock keys, not of the identifiers. Two identifiers may share a lock key,
  -- and then the order of identifiers would not prevent deadlocks.
  for lock_key in
    select distinct hashtextextended('mesh agent ' || named.agent_id, 0)
    from unnest(lock_agents.agent_ids) as named (agent_id)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
end
$$;
comment on function mesh.lock_agents(text[]) is
  'Step 1 of the lock order, for agents that need not be registered.';

create function mesh.lock_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.config_versions v
  where v.agent_id = any (lock_config_versions.agent_ids)
  order by v.agent_id
  for update;
end
$$;
comment on function mesh.lock_config_versions(text[]) is 'Step 2 of the lock order.';

create function mesh.start_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.config_versions (agent_id, version)
  select named.agent_id, e.first_config_version
  from unnest(start_config_versions.agent_ids) as named (agent_id)
  cross join agents.epochs e
  on conflict do nothing;
end
$$;
comment on function mesh.start_config_versions(text[]) is
  'Gives agents with their first peer or rule a version that can be raised and locked. Runs '
  'between steps 1 and 2, so that step 2 finds every row.';

create function mesh.start_and_lock_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.config_versions as v (agent_id, version)
  select named.agent_id, e.first_config_version
  from unnest(start_and_lock_config_versions.agent_ids) as named (agent_id)
  cross join agents.epochs e
  order by named.agent_id collate "C"
  -- Also locks existing rows. With two statements, a transaction would hold a new row while it
  -- waits for a row that comes before it in the order.
  on conflict (agent_id) do update set version = v.version where false;
end
$$;
comment on function mesh.start_and_lock_config_versions(text[]) is
  'Like start_config_versions, and step 2 of the lock order, in one: for a change that gives rules '
  'to agents that may have no version yet.';

create function mesh.lock_versions_around(agent_id text) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  around text[];
  is_complete boolean := false;
begin
  while not is_complete loop
    around := mesh.neighbours(lock_versions_around.agent_id) || lock_versions_around.agent_id;
    begin
      perform mesh.lock_config_versions(around);
      -- The policy may have added neighbours during the wait. Then release the rows, and lock all
      -- of them again in their order.
      if exists (
        select unnest(mesh.neighbours(lock_versions_around.agent_id))
        except
        select unnest(around)
      ) then
        raise exception using errcode = 'MV001';
      end if;
      is_complete := true;
    exception when sqlstate 'MV001' then
      null;
    end;
  end loop;
  return mesh.visible_peers(lock_versions_around.agent_id);
end
$$;
comment on function mesh.lock_versions_around(text) is
  'Step 2 for a change of one agent''s peer, which its neighbours'' texts may name. Returns the '
  'agents that see it, if it is registered.';

create function mesh.raise_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update mesh.config_versions v
  set version = v.version + 1
  where v.agent_id = any (raise_config_versions.agent_ids);
end
$$;
comment on function mesh.raise_config_versions(text[]) is
  'Records that the configurations of these agents have changed. Call it under '
  'lock_config_versions.';

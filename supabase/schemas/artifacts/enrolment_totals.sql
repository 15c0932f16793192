-- What the agents of each enrolment hold together, updated with every change, so that enrolling
-- many agents with one enrolment key does not multiply what its holder may store.

create table artifacts.enrolment_totals (
  enrolment_id text collate "C" not null,
  by_sweep boolean not null,
  bytes bigint not null,

  constraint enrolment_totals_pkey primary key (enrolment_id, by_sweep)
)
with (fillfactor = 10);
comment on table artifacts.enrolment_totals is
  'The registered and surplus bytes of all agents of an enrolment: the sum of its two rows. Agents '
  'that ended count until their files end: an enrolment key must not get room by leaving and '
  'enrolling again.';
comment on column artifacts.enrolment_totals.bytes is
  'A part of the sum, so it may be negative.';
comment on column artifacts.enrolment_totals.by_sweep is
  'Operations that run one at a time (lock_sweep) change one agent''s totals after another, and '
  'keep their row here locked meanwhile. So they have a separate row: no other transaction that '
  'holds totals may wait for it.';

create function artifacts.add_to_enrolment_totals(enrolment_id text, bytes bigint) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- A commit, for example, changes no sum: it does not wait for the enrolment's other agents.
  if add_to_enrolment_totals.bytes = 0 then
    return;
  end if;
  insert into artifacts.enrolment_totals as e (enrolment_id, by_sweep, bytes)
  values (
    add_to_enrolment_totals.enrolment_id,
    coalesce(current_setting('artifacts.has_turn', true) = 'yes', false),
    add_to_enrolment_totals.bytes
  )
  on conflict on constraint enrolment_totals_pkey do update set bytes = e.bytes + excluded.bytes;
end
$$;
comment on function artifacts.add_to_enrolment_totals(text, bigint) is
  'Adds bytes, which may be negative, to what the agents of an enrolment hold. From then on until '
  'the transaction ends, registrations of that enrolment wait.';

create function artifacts.count_for_enrolment(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  former text;
  present text;
  held_bytes bigint;
begin
  -- An agent that registers its first artifact, and the enrolment of that agent, may not see each
  -- other. Whoever comes second waits here, then sees the other.
  perform pg_advisory_xact_lock(
    hashtextextended('enrolment of ' || count_for_enrolment.agent_id, 0)
  );
  present := coalesce(
    (
      select a.enrolment_id
      from agents.enrolled_agents a
      where a.agent_id = count_for_enrolment.agent_id
    ),
    ''
  );
  select t.enrolment_id,
    t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes
  into former, held_bytes
  from artifacts.totals t
  where t.agent_id = count_for_enrolment.agent_id
  for no key update;
  if not found or former = present then
    return;
  end if;
  update artifacts.totals t
  set enrolment_id = present
  where t.agent_id = count_for_enrolment.agent_id;
  -- The same order in every transaction prevents deadlocks.
  if former < present and former <> '' then
    perform artifacts.add_to_enrolment_totals(former, -held_bytes);
  end if;
  if present <> '' then
    perform artifacts.add_to_enrolment_totals(present, held_bytes);
  end if;
  if former > present then
    perform artifacts.add_to_enrolment_totals(former, -held_bytes);
  end if;
end
$$;
comment on function artifacts.count_for_enrolment(text) is
  'Makes the bytes of an agent count for the enrolment by which it now comes, and for no other. '
  'Call it after agents.enrolled_agents has changed.';

create function artifacts.quota_of_enrolment(enrolment_quota bigint, agent_quota bigint) returns bigint
language sql
immutable
return coalesce(enrolment_quota, 10 * agent_quota);
comment on function artifacts.quota_of_enrolment(bigint, bigint) is
  'How many bytes the agents of an enrolment may hold together; 0: any number. An enrolment without '
  'a quota of its own has room for ten agents that use up the project''s quota. So the quota that '
  'the operator has set also bounds an enrolment key that leaks, and ordinary fleets, whose agents '
  'mostly hold little, have room. A project without a quota sets none here either.';

create function artifacts.refuse_beyond_enrolment(
  agent_id text,
  size bigint,
  agent_quota bigint
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  came_by constant text := (
    select t.enrolment_id
    from artifacts.totals t
    where t.agent_id = refuse_beyond_enrolment.agent_id
  );
  quota bigint;
  held_bytes bigint;
begin
  select artifacts.quota_of_enrolment(e.quota_bytes, refuse_beyond_enrolment.agent_quota)
  into quota
  from agents.enrolments e
  where e.enrolment_id = came_by;
  if quota is null or quota = 0 then
    return;
  end if;
  select sum(t.bytes) into held_bytes
  from artifacts.enrolment_totals t
  where t.enrolment_id = came_by;
  if held_bytes > quota then
    raise sqlstate 'PT409' using
      message = 'quota_exceeded',
      detail = json_build_object(
        'limit', 'bytes_of_enrolment',
        'quota_bytes', quota,
        'held_bytes', held_bytes - refuse_beyond_enrolment.size
      );
  end if;
end
$$;
comment on function artifacts.refuse_beyond_enrolment(text, bigint, bigint) is
  'Raises quota_exceeded if the artifact of this size that the transaction has just registered '
  'takes the agents of the caller''s enrolment above what they may hold together. The registration '
  'has locked their sum, so each sees those before it. Expired artifacts count until the sweep ends '
  'them: subtracting them here would read those of all agents. agent_quota is the project''s.';

-- Standing grants: an owner's promise to grant what it will commit under a name or a prefix. Each
-- commit makes ordinary grants of it, so that nothing else has to know standing grants.

create table artifacts.standing_grants (
  standing_id text collate "C" primary key,
  from_agent agents.agent_id not null,
  covered_name text collate "C" not null,
  is_prefix boolean not null,
  to_agent agents.agent_id,
  to_tag agents.tag,
  grantee text collate "C" not null generated always as (coalesce(to_agent, '#' || to_tag)) stored,
  grant_days integer,
  note text,
  is_shared boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  transaction_id xid8 not null default agents.present_transaction(),
  live_until timestamptz not null generated always as (least(expires_at, ended_at)) stored,

  constraint standing_id_is_well_formed check (
    length(standing_id) = 41 and standing_id ~ '^standing_[0-9a-f]*$'
  ),
  constraint name_has_at_most_1024_bytes check (octet_length(covered_name) <= 1024),
  constraint a_name_is_not_empty check (is_prefix or covered_name <> ''),
  constraint a_standing_grant_is_to_an_agent_or_to_a_tag check (
    (to_agent is null) <> (to_tag is null)
  ),
  constraint grant_days_is_positive check (grant_days > 0),
  constraint note_is_1_to_2000_characters check (length(note) between 1 and 2000),
  constraint only_a_tag_shares check (to_tag is not null or not is_shared)
);
comment on table artifacts.standing_grants is
  'One row per standing grant. While it is live, every commit of from_agent under the name grants '
  'the artifact.';
comment on column artifacts.standing_grants.covered_name is
  'A file''s whole name (`key`) or, with is_prefix, the beginning of names; empty: every name.';
comment on column artifacts.standing_grants.standing_id is 'Random, and no secret.';
comment on column artifacts.standing_grants.is_prefix is
  'Whether covered_name is only the beginning of the files'' names.';
comment on column artifacts.standing_grants.to_tag is
  'Its grants are to every agent that has this tag.';
comment on column artifacts.standing_grants.ended_at is
  'When its owner ended it, or an agent was removed; null: neither.';
comment on column artifacts.standing_grants.grantee is 'As in artifacts.grants, for the indexes.';
comment on column artifacts.standing_grants.grant_days is
  'How long each grant lasts, from its commit on; null: until the standing grant expires.';
comment on column artifacts.standing_grants.note is
  'The owner''s words, for whoever gets its grants: as in artifacts.hand_overs.';
comment on column artifacts.standing_grants.is_shared is 'As in artifacts.hand_overs.';
comment on column artifacts.standing_grants.transaction_id is
  'The transaction that made the row: see artifacts.grants.transaction_id.';
comment on column artifacts.standing_grants.live_until is
  'When the standing grant expires or was ended. The row stays for 30 days, and as long as a grant '
  'of it is live.';

-- Each beginning of a name is looked up by itself, so a commit reads only what matches.
create index standing_grants_by_name on artifacts.standing_grants (from_agent, covered_name, live_until);
-- The order of /standing/list.
create index standing_grants_by_granter
  on artifacts.standing_grants (from_agent, live_until, standing_id);
create index standing_grants_by_grantee
  on artifacts.standing_grants (grantee, live_until, standing_id);
create index standing_grants_by_end on artifacts.standing_grants (live_until, standing_id);
create index grants_by_standing on artifacts.grants (standing_id, live_until, grant_id)
  where standing_id is not null;

create function artifacts.standing_lock(agent_id text) returns bigint
language sql
immutable
return hashtextextended('standing grants of ' || agent_id, 0);
comment on function artifacts.standing_lock(text) is
  'The advisory lock of an agent''s standing grants: its commits take it in shared mode, '
  '/standing/create and /standing/end exclusively. It comes before all row locks.';

create function artifacts.standing_json(standing artifacts.standing_grants) returns jsonb
language sql
stable
return jsonb_build_object(
  'standing_id', standing.standing_id,
  'key', case when not standing.is_prefix then standing.covered_name end,
  'prefix', case when standing.is_prefix then standing.covered_name end,
  'to_agent', standing.to_agent,
  'grant_days', standing.grant_days,
  'note', standing.note,
  'deliver', artifacts.delivery(standing.is_shared),
  'created_at', agents.iso_timestamp(standing.created_at),
  'expires_at', agents.iso_timestamp(standing.expires_at)
) || case
  when standing.to_tag is null then jsonb '{}' else jsonb_build_object('to_tag', standing.to_tag)
end;
comment on function artifacts.standing_json(artifacts.standing_grants) is
  'A standing grant, as its owner sees it.';

create function artifacts.end_standing(ids text[], caller jsonb, caller_agent text) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended artifacts.standing_grants;
  ended_count integer := 0;
begin
  -- In the order in which commits lock them.
  perform
  from artifacts.standing_grants s
  where s.standing_id = any (end_standing.ids)
  order by s.standing_id
  for update;
  for ended in
    update artifacts.standing_grants s
    set ended_at = clock_timestamp()
    where s.standing_id = any (end_standing.ids) and s.live_until > clock_timestamp()
    returning s.*
  loop
    ended_count := ended_count + 1;
    perform agents.record_event(
      end_standing.caller, end_standing.caller_agent, 'standing.ended', ended.to_agent, ended.standing_id,
      jsonb_strip_nulls(jsonb_build_object('to_tag', ended.to_tag)),
      ended.from_agent
    );
  end loop;
  return ended_count;
end
$$;
comment on function artifacts.end_standing(text[], jsonb, text) is
  'Ends these standing grants, and not the grants that they made; returns how many were live.';

create function artifacts.end_standing_of(
  agent_id text,
  max_entries integer,
  only_given boolean default false,
  before_transaction xid8 default null
) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  instant timestamptz := clock_timestamp();
begin
  return artifacts.end_standing(
    array(
      (
        select s.standing_id
        from artifacts.standing_grants s
        where s.from_agent = end_standing_of.agent_id
          and s.live_until > instant
          and (before_transaction is null or s.transaction_id < before_transaction)
        order by s.from_agent, s.live_until
        limit end_standing_of.max_entries
      )
      union
      (
        select s.standing_id
        from artifacts.standing_grants s
        where not only_given and s.grantee = end_standing_of.agent_id and s.live_until > instant
        order by s.grantee, s.live_until
        limit end_standing_of.max_entries
      )
      limit end_standing_of.max_entries
    ),
    '{"kind": "operator"}',
    null
  );
end
$$;
comment on function artifacts.end_standing_of(text, integer, boolean, xid8) is
  'Ends up to max_entries standing grants from and to an agent, or only those that it gave, in '
  'transactions before the given one if there is one; returns how many.';

-- What a giver said about a grant beyond access: what the file is for, what it answers, and how the
-- work on it is handed out.

create table artifacts.hand_overs (
  grant_id text collate "C" primary key references artifacts.grants (grant_id) on delete cascade,
  from_agent agents.agent_id not null,
  note text,
  reply_to text collate "C",
  is_shared boolean not null default false,
  max_attempts integer not null default 5,
  idempotency_key text collate "C",
  handed_over_at timestamptz not null default clock_timestamp(),

  constraint note_is_1_to_2000_characters check (length(note) between 1 and 2000),
  constraint reply_to_is_a_grant_id check (length(reply_to) = 38 and reply_to ~ '^grant_[0-9a-f]*$'),
  constraint max_attempts_is_1_to_100 check (max_attempts between 1 and 100),
  constraint idempotency_key_is_well_formed check (
    length(idempotency_key) <= 64 and idempotency_key ~ '^[A-Za-z0-9_-]+$'
  )
);
comment on table artifacts.hand_overs is
  'One row per grant that was given with a note, as an answer, with an idempotency key, to one '
  'agent of a tag, or with its own max_attempts. Any other grant has no row, so that giving it '
  'costs no more than access.';
comment on column artifacts.hand_overs.from_agent is 'The giver, as in artifacts.grants.';
comment on column artifacts.hand_overs.note is 'The giver''s words, for the grantee.';
comment on column artifacts.hand_overs.reply_to is
  'The grant that this one answers. Its row may have been deleted since.';
comment on column artifacts.hand_overs.is_shared is
  'Whether exactly one agent of the tag works on it (`deliver: one`).';
comment on column artifacts.hand_overs.max_attempts is
  'After how many attempts its task is parked.';

comment on column artifacts.hand_overs.idempotency_key is
  'The giver''s name of the request. For 24 hours, the same request makes no second grant.';
comment on column artifacts.hand_overs.handed_over_at is 'When the grant was given.';

-- Finds a repeated request, and everything that an agent said.
create index hand_overs_by_giver on artifacts.hand_overs (from_agent, idempotency_key, handed_over_at);

create function artifacts.hand_over_of(grant_id text)
returns table (note text, reply_to text, is_shared boolean, max_attempts integer)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select h.note, h.reply_to, coalesce(h.is_shared, false), coalesce(h.max_attempts, 5)
  from (values (hand_over_of.grant_id collate "C")) g (grant_id)
  -- `limit 1` forces one lookup for each grant of the caller's query.
  left join lateral (
    select s.note, s.reply_to, s.is_shared, s.max_attempts
    from artifacts.hand_overs s
    where s.grant_id = g.grant_id
    limit 1
  ) h on true;
end;
comment on function artifacts.hand_over_of(text) is
  'What the giver said about a grant, or the defaults.';

create function artifacts.delivery(is_shared boolean) returns text
language sql
immutable
-- Inlined.
return case when is_shared then 'one' else 'each' end;
comment on function artifacts.delivery(boolean) is '`deliver` on the wire.';

create function artifacts.has_grant_of(agent_id text, grant_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select
    from artifacts.grants g
    where g.grant_id = has_grant_of.grant_id
      and (
        g.from_agent = has_grant_of.agent_id
        or g.to_agent = has_grant_of.agent_id
        or g.to_tag in (select t.tag from agents.agent_tags t where t.agent_id = has_grant_of.agent_id)
      )
  );
end
$$;
comment on function artifacts.has_grant_of(text, text) is
  'Whether an agent gave a grant, or received it by its name or a tag. It may have ended.';

create function artifacts.repeated_grant(
  from_agent text,
  idempotency_key text,
  artifact_id text,
  grantee text,
  expires_at timestamptz,
  max_downloads integer,
  note text,
  reply_to text,
  is_shared boolean,
  max_attempts integer
) returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_id text;
  earlier artifacts.grants;
  said artifacts.hand_overs;
begin
  -- Of requests with one key, the first makes the grant, and the others wait for it.
  perform pg_advisory_xact_lock(
    hashtextextended('grant ' || repeated_grant.idempotency_key || ' of ' || repeated_grant.from_agent, 0)
  );
  select h.grant_id into found_id
  from artifacts.hand_overs h
  where h.from_agent = repeated_grant.from_agent
    and h.idempotency_key = repeated_grant.idempotency_key
    and h.handed_over_at > clock_timestamp() - interval '24 hours'
  order by h.from_agent desc, h.idempotency_key desc, h.handed_over_at desc
  limit 1;
  if not found then
    return null;
  end if;
  select g.* into earlier from artifacts.grants g where g.grant_id = found_id;
  select h.* into said from artifacts.hand_overs h where h.grant_id = found_id;
  if (
    earlier.artifact_id, earlier.grantee, earlier.expires_at, said.note, said.reply_to, said.is_shared, said.max_attempts,
    (select d.max_downloads from artifacts.grant_downloads d where d.grant_id = found_id)
  ) is distinct from (
    repeated_grant.artifact_id, repeated_grant.grantee, repeated_grant.expires_at, repeated_grant.note,
    repeated_grant.reply_to, repeated_grant.is_shared, repeated_grant.max_attempts, repeated_grant.max_downloads
  ) then
    raise sqlstate 'PT409' using message = 'idempotency_conflict';
  end if;
  return artifacts.granted_json(earlier) || jsonb '{"repeated": true}';
end
$$;
comment on function artifacts.repeated_grant(
  text, text, text, text, timestamptz, integer, text, text, boolean, integer
) is
  'What the same request with this idempotency key made within the last 24 hours; null: nothing, '
  'and until the end of the transaction nobody else makes it. Raises idempotency_conflict if the '
  'key was used for another request.';

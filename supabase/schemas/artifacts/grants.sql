-- Grants: access of one agent, of every agent with a tag, or of anyone with the token, to one
-- artifact, until the grant expires or is revoked.

create function artifacts.grantee(to_agent text, to_tag text) returns text
language sql
immutable
-- `#` is needed, because an agent may also be called tag:builder. No agent's identifier begins with
-- `#`.
return coalesce(to_agent, '#' || to_tag) collate "C";
comment on function artifacts.grantee(text, text) is
  'The grantee''s name in the indexes: an agent, or `#` and a tag. Null: the grant is to neither.';

create table artifacts.grants (
  grant_id text collate "C" primary key,
  artifact_id text collate "C" not null references artifacts.artifacts (artifact_id) on delete cascade,
  from_agent agents.agent_id not null,
  to_agent agents.agent_id,
  to_tag agents.tag,
  -- Early in the row, because it is read for each live grant of an artifact. The same as
  -- artifacts.grantee, but a call would be inlined again by every insert, which takes longer than
  -- the rest of the column.
  grantee text collate "C" generated always as (coalesce(to_agent, '#' || to_tag)) stored,
  token_hash text collate "C" not null,
  granted_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  transaction_id xid8 not null default agents.present_transaction(),
  standing_id text collate "C",
  live_until timestamptz not null generated always as (least(expires_at, revoked_at)) stored,

  constraint a_grant_is_to_an_agent_or_to_a_tag check (to_agent is null or to_tag is null),
  constraint grant_id_is_well_formed check (
    length(grant_id) = 38 and grant_id ~ '^grant_[0-9a-f]*$'
  ),
  constraint standing_id_is_well_formed check (
    length(standing_id) = 41 and standing_id ~ '^standing_[0-9a-f]*$'
  ),
  constraint token_hash_is_a_sha256 check (length(token_hash) = 64 and token_hash ~ '^[0-9a-f]*$'),
  constraint token_hash_is_unique unique (token_hash)
);
comment on table artifacts.grants is
  'Access of one agent, or of every agent with a tag, to one artifact until expires_at. Only the '
  'SHA-256 of the grant token is stored.';
comment on column artifacts.grants.to_agent is
  'Null, with to_tag null: anyone with the token has access, and no agent has access with its '
  'agent key.';
comment on column artifacts.grants.to_tag is
  'Every agent that has this tag at the moment of its request has access.';
comment on column artifacts.grants.grantee is 'The agent or the tag, for the indexes.';
comment on column artifacts.grants.from_agent is 'The owner of the artifact, which never changes.';
comment on column artifacts.grants.standing_id is
  'The standing grant that made the grant, which may have been deleted since; null: none.';
comment on column artifacts.grants.live_until is
  'When the grant expires or was revoked. Rows of ended grants stay for 30 days; an index on this '
  'column skips them.';

create index grants_by_artifact on artifacts.grants (artifact_id, live_until) include (grantee);
-- The indexes by grantee leave out grants to anyone with the token.
create index grants_by_grantee on artifacts.grants (grantee, live_until, grant_id)
  where grantee is not null;
-- Read backwards, this is the order of /inbox.
create index unrevoked_grants_by_grantee on artifacts.grants (grantee, granted_at, grant_id)
  where revoked_at is null and grantee is not null;
-- These two indexes find what was granted since an inbox was last read, and what one agent granted
-- to another.
create index grants_by_grantee_and_transaction on artifacts.grants (grantee, transaction_id)
  where grantee is not null;
create index grants_by_grantee_and_granter on artifacts.grants (grantee, from_agent, live_until)
  where grantee is not null;
-- The order of /grants.
create index grants_by_granter on artifacts.grants (from_agent, live_until, grant_id);
-- With grant_id, because very many grants may end at one instant.
create index grants_by_end on artifacts.grants (live_until, grant_id);

comment on column artifacts.grants.transaction_id is
  'The transaction that made the grant. If the snapshot of an earlier read does not include it, '
  'the grant was made after that read. Times cannot tell, because grants are not committed in the '
  'order of granted_at.';

create function artifacts.tag_of_grant(given artifacts.grants) returns jsonb
language sql
stable
-- Inlined.
return case
  when given.to_tag is null then jsonb '{}' else jsonb_build_object('to_tag', given.to_tag)
end;
comment on function artifacts.tag_of_grant(artifacts.grants) is
  '{to_tag} for a grant to a tag, and {} for any other. Answers about grants include it.';

create function artifacts.granted_json(given artifacts.grants) returns jsonb
language sql
stable
-- Inlined.
return jsonb_build_object(
  'grant_id', given.grant_id,
  'artifact_id', given.artifact_id,
  'to_agent', given.to_agent,
  'expires_at', agents.iso_timestamp(given.expires_at)
) || artifacts.tag_of_grant(given);
comment on function artifacts.granted_json(artifacts.grants) is 'What /grant answers.';

create function artifacts.live_grants(artifact_id text, instant timestamptz)
returns table (grant_id text, grantee text, to_tag text, live_until timestamptz)
language sql
stable
begin atomic
  select g.grant_id, g.grantee, g.to_tag::text, g.live_until
  from artifacts.grants g
  -- One range of grants_by_artifact. Row comparisons keep the planner from using another index: for
  -- a condition on live_until alone, it might choose grants_by_end, which has the grants of all
  -- artifacts.
  where (g.artifact_id, g.live_until) > (live_grants.artifact_id, live_grants.instant)
    and (g.artifact_id, g.live_until) <= (live_grants.artifact_id, timestamptz 'infinity')
    -- What was revoked stays so if the clock goes back to before that.
    and g.revoked_at is null
  -- `offset 0` makes the planner apply further conditions of the caller to these few rows, and not
  -- search another index for them.
  offset 0;
end;
comment on function artifacts.live_grants(text, timestamptz) is
  'The few grants of an artifact that are live after a given time. That time must be a variable: '
  'clock_timestamp() is volatile, so PostgreSQL does not use an index for it.';

create function artifacts.is_granted(artifact_id text, agent_id text, instant timestamptz) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Not `exists`: for the first row alone, the planner would read the whole table.
  return (
    select count(*) > 0
    from artifacts.live_grants(is_granted.artifact_id, is_granted.instant) g
    where g.grantee = is_granted.agent_id
      or g.to_tag is not null and g.to_tag in (
        select t.tag from agents.agent_tags t where t.agent_id = is_granted.agent_id
      )
  );
end
$$;
comment on function artifacts.is_granted(text, text, timestamptz) is
  'Whether an agent, or a tag of it, has a grant of an artifact that is live after a given time. '
  'Its downloads may be used up.';

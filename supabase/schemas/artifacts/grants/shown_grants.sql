-- When a grant was first shown to its grantee. Reading an inbox writes nothing for each grant: if
-- an answer shows something new, one row says how far the grantee has seen.

create table artifacts.inbox_views (
  agent_id agents.agent_id,
  to_tag agents.tag,
  grantee text collate "C" not null generated always as (coalesce(agent_id, '#' || to_tag)) stored,
  seen pg_snapshot not null,
  seen_through xid8 not null generated always as (pg_snapshot_xmax(seen)) stored,
  shown_at timestamptz not null default clock_timestamp(),

  constraint a_view_is_of_an_agent_or_of_a_tag check ((agent_id is null) <> (to_tag is null)),
  constraint an_inbox_is_seen_once_through_a_transaction primary key (grantee, seen_through)
);
comment on table artifacts.inbox_views is
  'One row per answer of /inbox that showed something new to an agent, and one to each of its tags '
  'that something new was for. The first one whose snapshot has a grant says when it was shown.';
comment on column artifacts.inbox_views.to_tag is
  'Shown to one of the tag''s agents, as part of its inbox.';
comment on column artifacts.inbox_views.grantee is 'As in artifacts.grants.';
comment on column artifacts.inbox_views.seen is 'The snapshot of the answer.';
comment on column artifacts.inbox_views.seen_through is
  'The snapshot has no transaction from this one on.';
comment on column artifacts.inbox_views.shown_at is 'When the answer was given.';

-- For the sweep.
create index inbox_views_by_time on artifacts.inbox_views (shown_at);

create function artifacts.has_unseen_grants(grantee text, instant pg_snapshot) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  seen pg_snapshot;
begin
  select v.seen into seen
  from artifacts.inbox_views v
  where v.grantee = has_unseen_grants.grantee
  order by v.grantee desc, v.seen_through desc
  limit 1;
  if seen is null then
    return exists (
      select
      from artifacts.grants g
      where g.grantee = has_unseen_grants.grantee
        and pg_visible_in_snapshot(g.transaction_id, has_unseen_grants.instant)
    );
  end if;
  return exists (
    select
    from artifacts.grants g
    where g.grantee = has_unseen_grants.grantee
      and g.transaction_id >= pg_snapshot_xmin(seen)
      and not pg_visible_in_snapshot(g.transaction_id, seen)
      and pg_visible_in_snapshot(g.transaction_id, has_unseen_grants.instant)
  );
end
$$;
comment on function artifacts.has_unseen_grants(text, pg_snapshot) is
  'Whether a grantee has grants in a snapshot that are in no earlier answer of /inbox.';

create function artifacts.tell_of_view(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  instant constant pg_snapshot := agents.present_snapshot();
begin
  if artifacts.has_unseen_grants(tell_of_view.agent_id, instant) or exists (
    select
    from agents.agent_tags t
    where t.agent_id = tell_of_view.agent_id and artifacts.has_unseen_grants('#' || t.tag, instant)
  ) then
    -- As with x-caller, a header of PostgREST's answer costs no extra round trip.
    perform set_config(
      'response.headers',
      (
        coalesce(nullif(current_setting('response.headers', true), ''), '[]')::jsonb
          || jsonb_build_array(jsonb_build_object('x-inbox-shown', tell_of_view.agent_id || ' ' || instant::text))
      )::text,
      true
    );
  end if;
end
$$;
comment on function artifacts.tell_of_view(text) is
  'If this answer shows an agent something for the first time, sets the answer''s header '
  'x-inbox-shown: `<agent_id> <snapshot>`, which agent_api_note_inbox_shown must be called with.';

create function public.agent_api_note_inbox_shown(caller jsonb, agent_id text, seen text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
  instant constant pg_snapshot := agent_api_note_inbox_shown.seen::pg_snapshot;
begin
  subject := agents.require_self(
    agents.admit(agent_api_note_inbox_shown.caller), agent_api_note_inbox_shown.agent_id
  );
  insert into artifacts.inbox_views (agent_id, to_tag, seen)
  select n.agent_id, n.to_tag, instant
  from (
    select subject as agent_id, null as to_tag, subject as grantee
    union all
    select null, t.tag, '#' || t.tag
    from agents.agent_tags t
    where t.agent_id = subject
  ) n
  where artifacts.has_unseen_grants(n.grantee, instant)
  -- The same order for all agents of a tag.
  order by n.to_tag nulls first
  on conflict on constraint an_inbox_is_seen_once_through_a_transaction do nothing;
  return json_build_object('agent_id', subject);
end
$$;
comment on function public.agent_api_note_inbox_shown(jsonb, text, text) is
  'Records that an answer of /inbox, from this snapshot, was given to an agent: {agent_id}. Raises '
  'unauthenticated, forbidden.';

-- Pages of events, as /events answers them and as the operator's commands read them.

create function public.agent_api_list_events(
  caller jsonb,
  agent_id text,
  types text[],
  max_entries integer,
  after text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_list_events.caller);
  subject text := coalesce(caller_agent, agent_api_list_events.agent_id);
begin
  if caller_agent <> agent_api_list_events.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return agents.events_page(
    subject, null, agent_api_list_events.types, null, agent_api_list_events.max_entries,
    agent_api_list_events.after, null,
    is_for_operator => false
  );
end
$$;
comment on function public.agent_api_list_events(jsonb, text, text[], integer, text) is
  'The events of these types that concern an agent (null, from the operator: all), oldest first, '
  'after the `latest` of an earlier answer; without one, the newest page. A page may be short or '
  'empty even if there are more events. Raises forbidden, invalid_request, position_expired.';

create function public.agent_api_find_events(
  max_entries integer,
  after text default null,
  since timestamptz default null,
  agent_id text default null,
  artifact_id text default null,
  types text[] default null,
  before text default null,
  until timestamptz default null
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select agents.events_page(
    agent_api_find_events.agent_id, agent_api_find_events.artifact_id, agent_api_find_events.types,
    agent_api_find_events.since,
    agent_api_find_events.max_entries, agent_api_find_events.after, agent_api_find_events.before,
    is_for_operator => true,
    until => agent_api_find_events.until
  )
$$;
comment on function public.agent_api_find_events(
  integer, text, timestamptz, text, text, text[], text, timestamptz
) is
  'The event log for the operator: {events: [{event_id, type, at, actor_kind, actor | null, '
  'agent_id | null, …, other_agent_id, key_id, request_id, final}], latest, more, next | null, '
  'held | null, earlier | null, looked_at, looked_back_to | null}, oldest first. Fields after '
  'agent_id are present only if the event has them. agent_id: only events that concern this agent; '
  'artifact_id: only those about this artifact; types: only these, such as artifact.opened; since: '
  'none older; until: none newer. Without `after` and `since` it returns the newest page, and '
  '`earlier` is the `before` of the page of older events, null if there are no older ones. `next` '
  'is the `after` of the next page, null if no next page exists (`more` is false). An event with '
  '`final` false is beyond the horizon: older transactions may still add events before it, and no '
  'feed shows it yet; `held` is then what held_log returns. `latest` never lies beyond the '
  'horizon: continuing from there misses nothing, and repeats what was not final. A page may be '
  'short or empty before the next or the earlier one: it has looked at `looked_at` events of every '
  'type, the oldest from looked_back_to. Raises invalid_request, position_expired.';

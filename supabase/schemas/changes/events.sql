-- Pages of events, as /events answers them.

create function public.list_events(
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
  caller_agent text := agents.authenticate(list_events.caller);
  subject text := coalesce(caller_agent, list_events.agent_id);
begin
  if caller_agent <> list_events.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return agents.events_page(
    subject, null, list_events.types, null, list_events.max_entries, list_events.after, null,
    is_for_operator => false
  );
end
$$;
comment on function public.list_events(jsonb, text, text[], integer, text) is
  'The events of these types that concern an agent (null, from the operator: all), oldest first, '
  'after the `latest` of an earlier answer; without one, the newest page. A page may be short or '
  'empty even if there are more events. Raises forbidden, invalid_request, position_expired.';

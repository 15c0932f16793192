-- What an erasure does to webhooks. Their deliveries contain no names: these are read from the
-- events, which the erasure changes.

create function agents.erase_from_webhooks(name text, pseudonym text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  pattern constant text := agents.pattern_of_name(erase_from_webhooks.name);
  named_id text;
begin
  -- With another URL or filter, it would send other events, or send them elsewhere.
  for named_id in
    select w.webhook_id
    from agents.webhooks w
    where w.ended_at is null and (w.agent_id = erase_from_webhooks.name or w.url ~ pattern)
    order by w.webhook_id
  loop
    perform agents.end_webhook(named_id, 'erased');
  end loop;
  update agents.webhooks w
  set agent_id = case
      when w.agent_id = erase_from_webhooks.name then erase_from_webhooks.pseudonym else w.agent_id
    end,
    url = regexp_replace(w.url, pattern, erase_from_webhooks.pseudonym, 'g'),
    label = regexp_replace(w.label, pattern, erase_from_webhooks.pseudonym, 'g')
  where w.agent_id = erase_from_webhooks.name or concat_ws(' ', w.url, w.label) ~ pattern;
end
$$;
comment on function agents.erase_from_webhooks(text, text) is
  'Ends the webhooks whose filter or URL names an agent, and replaces the name in all webhooks.';

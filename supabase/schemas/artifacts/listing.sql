-- Listing artifacts: the current ones of an agent, page by page.

create function public.agent_api_list_artifacts(
  caller jsonb,
  agent_id text,
  prefix text,
  max_entries integer,
  after_key text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_artifacts.caller, agent_api_list_artifacts.agent_id);
  -- In byte order, exactly the keys with this prefix lie between the prefix and last_key. A key has
  -- at most 1024 bytes, which is 256 of the longest characters.
  last_key text collate "C" := agent_api_list_artifacts.prefix || repeat(U&'\+10FFFF', 256);
  -- An upper limit on the artifacts that one page reads, so that expired ones that wait for the
  -- sweep cannot slow it down.
  entries_per_page constant integer := agent_api_list_artifacts.max_entries + 1000;
  answer json;
begin
  with walked as (
    select a as artifact, a.key, a.expires_at > now() as is_live
    from artifacts.artifacts a
    where a.agent_id = subject
      and a.state = 'committed'
      and a.ended_at is null
      and a.key >= agent_api_list_artifacts.prefix
      and a.key <= last_key
      and a.key > coalesce(agent_api_list_artifacts.after_key, '')
    order by a.key
    limit entries_per_page
  ), listed as (
    select w.artifact, w.key
    from walked w
    where w.is_live
    order by w.key
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_artifacts.max_entries + 1
  ), page as (
    select l.artifact, l.key from listed l order by l.key limit agent_api_list_artifacts.max_entries
  )
  select json_build_object(
    'artifacts', (
      select coalesce(json_agg(artifacts.artifact_json(p.artifact) order by p.key), '[]') from page p
    ),
    'last_key', case
      when (select count(*) from listed) > agent_api_list_artifacts.max_entries then (select max(p.key) from page p)
      when (select count(*) from walked) = entries_per_page then (select max(w.key) from walked w)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_artifacts(jsonb, text, text, integer, text) is
  'The current artifacts of an agent under a prefix, in byte order of `key`, after after_key. If '
  'last_key is not null, the next page begins after it. A page may be short or empty before the '
  'last. Raises forbidden, invalid_request.';

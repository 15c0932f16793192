-- What the operator sees of agents. An agent exists as soon as something names it, so listing
-- agents means walking over the tables that name them, from one name to the next.
--
-- Every list for the operator takes max_entries and `after`, and returns {found: […], next}. `next`
-- is the `after` of the next page, null if there are no more pages. A page may be short or empty
-- before the last.

create function agents.next_name(after text) returns text
language sql
stable
set search_path = ''
-- One index lookup per table, however many rows name the same agent.
as $$
  select least(
    (select min(k.agent_id) from agents.keys k where k.agent_id > next_name.after),
    (select min(t.agent_id) from artifacts.totals t where t.agent_id > next_name.after),
    -- `#` and a tag sorts before `/`, and every agent after it.
    (
      select min(g.grantee)
      from artifacts.grants g
      where g.grantee > greatest(next_name.after, '/' collate "C")
    ),
    (select min(s.from_agent) from artifacts.standing_grants s where s.from_agent > next_name.after),
    (
      select min(s.grantee)
      from artifacts.standing_grants s
      where s.grantee > greatest(next_name.after, '/' collate "C")
    ),
    (select min(t.agent_id) from agents.agent_tags t where t.agent_id > next_name.after),
    -- Every agent that ever had a peer or a rule.
    (select min(v.agent_id) from mesh.config_versions v where v.agent_id > next_name.after),
    -- Signed-in users need no key.
    (select min(u.agent_id) from agents.usage u where u.agent_id > next_name.after)
  )
$$;
comment on function agents.next_name(text) is
  'The first agent after a name, in byte order; null: none.';

create function agents.holds_something(agent_id text) returns boolean
language sql
stable
begin atomic
  select exists (
      select from agents.keys k
      where k.agent_id = holds_something.agent_id
        and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
    )
    or exists (
      select from artifacts.totals t
      where t.agent_id = holds_something.agent_id and t.pending + t.committed + t.superseded > 0
    )
    or exists (
      select from artifacts.grants g
      where g.grantee = holds_something.agent_id and g.live_until > now()
    )
    -- The end of the last one: one index lookup each. If nearly all are to one agent, `exists`
    -- reads all of them for another.
    or coalesce(
      (
        select max(s.live_until)
        from artifacts.standing_grants s
        where s.from_agent = holds_something.agent_id
      ) > now(),
      false
    )
    or coalesce(
      (
        select max(s.live_until)
        from artifacts.standing_grants s
        where s.grantee = holds_something.agent_id
      ) > now(),
      false
    )
    or exists (select from agents.agent_tags t where t.agent_id = holds_something.agent_id)
    or exists (select from mesh.peers p where p.agent_id = holds_something.agent_id)
    or exists (select from mesh.rules r where r.from_agent = holds_something.agent_id)
    or exists (select from mesh.rules r where r.to_agent = holds_something.agent_id)
    or exists (select from mesh.policy_lines l where l.from_name = holds_something.agent_id)
    or exists (select from mesh.policy_lines l where l.to_name = holds_something.agent_id);
end;
comment on function agents.holds_something(text) is
  'Whether an agent has a live key, an artifact, a live grant to it, a live standing grant from or '
  'to it, a tag, a peer, or a rule or '
  'request that names it, or the policy names it. An agent without any of these is only '
  'remembered.';

create function agents.walk_names(
  after text,
  max_entries integer,
  with_ended boolean,
  tag text,
  out names text[],
  out last_name text
)
language plpgsql
stable
set search_path = ''
as $$
begin
  if walk_names.tag is not null then
    names := array(
      select t.agent_id
      from agents.agent_tags t
      where t.tag = walk_names.tag and t.agent_id > walk_names.after
      order by t.tag, t.agent_id
      limit walk_names.max_entries
    );
    if cardinality(names) = walk_names.max_entries then
      last_name := names[cardinality(names)];
    end if;
    return;
  end if;

  names := '{}';
  last_name := walk_names.after;
  -- An upper limit on the agents that one page skips because they are only remembered.
  for step in 1..walk_names.max_entries + 1000 loop
    last_name := agents.next_name(last_name);
    exit when last_name is null;
    if walk_names.with_ended or agents.holds_something(last_name) then
      names := names || last_name;
      exit when cardinality(names) = walk_names.max_entries;
    end if;
  end loop;
end
$$;
comment on function agents.walk_names(text, integer, boolean, text) is
  'The agents of one page, either of all agents or of those with a tag, and the name after which '
  'the next page begins (null: there is no next page).';

create function agents.describe_agents(agent_ids text[]) returns table (agent_id text, described jsonb)
language sql
stable
set search_path = ''
as $$
  select named.agent_id, jsonb_build_object(
    'agent_id', named.agent_id,
    'live_keys', k.live,
    'expired_keys', k.expired,
    'revoked_keys', k.revoked,
    'last_used_at', agents.iso_timestamp(k.last_used_at),
    'tags', to_jsonb(agents.tags_of(named.agent_id)),
    'pending', coalesce(t.pending, 0),
    'artifacts', coalesce(t.committed + t.superseded, 0),
    'bytes', coalesce(t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes, 0),
    'quota_bytes', (
      select l.quota_bytes from artifacts.agent_limits l where l.agent_id = named.agent_id limit 1
    ),
    'grants', coalesce(t.grants, 0),
    'has_peer', p.agent_id is not null,
    'last_seen', agents.iso_timestamp(p.last_seen),
    'keys', agents.newest_keys(named.agent_id, with_revoked => false)
  )
  from unnest(describe_agents.agent_ids) as named (agent_id)
  -- One lookup in each index per agent, or per key.
  cross join lateral (
    select
      count(*) filter (
        where k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
      ) as live,
      count(*) filter (where k.revoked_at is null and k.expires_at <= now()) as expired,
      count(*) filter (where k.revoked_at is not null) as revoked,
      max(u.last_used_at) as last_used_at
    from agents.keys k
    left join lateral (
      select u.last_used_at from agents.key_uses u where u.key_id = k.key_id limit 1
    ) u on true
    where k.agent_id = named.agent_id
  ) k
  left join lateral (
    select * from artifacts.totals t where t.agent_id = named.agent_id limit 1
  ) t on true
  left join lateral (
    select p.agent_id, l.last_seen
    from mesh.peers p
    cross join lateral (select l.last_seen from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
    where p.agent_id = named.agent_id
    limit 1
  ) p on true
$$;
comment on function agents.describe_agents(text[]) is
  'What each of these agents has. `artifacts` are committed and superseded ones, as the limit '
  'counts them; `bytes` are what the quota counts, and `quota_bytes` is the agent''s own quota, if '
  'it has one; `grants` are rows, including recently ended '
  'ones.';

create function public.agent_api_list_agents(
  max_entries integer,
  after text default '',
  with_ended boolean default false,
  tag text default null
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', (
      select coalesce(json_agg(d.described order by d.agent_id collate "C"), '[]')
      from agents.describe_agents(page.names) d
    ),
    'next', page.last_name
  )
  from agents.walk_names(
    agent_api_list_agents.after, agent_api_list_agents.max_entries,
    agent_api_list_agents.with_ended, agent_api_list_agents.tag
  ) page
$$;
comment on function public.agent_api_list_agents(integer, text, boolean, text) is
  'The agents after the given one, in byte order: {found: [{agent_id, live_keys, expired_keys, '
  'revoked_keys, last_used_at | null, tags, pending, artifacts, bytes, quota_bytes | null, grants, '
  'has_peer, last_seen | null, keys}], next: where the next page begins | null}. keys has those '
  'that are not revoked, in the form of agent_api_read_agent. with_ended: also agents that have '
  'nothing left and are only remembered. tag: only the agents that have this tag.';

create function public.agent_api_read_agent(
  agent_id text,
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  counted_at constant timestamptz := now();
  answer json;
begin
  if not (
    agents.holds_something(agent_api_read_agent.agent_id)
    or exists (select from agents.keys k where k.agent_id = agent_api_read_agent.agent_id)
    or exists (select from artifacts.totals t where t.agent_id = agent_api_read_agent.agent_id)
    or exists (select from artifacts.grants g where g.grantee = agent_api_read_agent.agent_id)
    or exists (select from agents.agent_tags t where t.agent_id = agent_api_read_agent.agent_id)
    or exists (select from mesh.config_versions v where v.agent_id = agent_api_read_agent.agent_id)
    or exists (select from agents.usage u where u.agent_id = agent_api_read_agent.agent_id)
  ) then
    return null;
  end if;

  select d.described || jsonb_build_object(
    'grants_given', (
      select count(*)
      from (
        select from artifacts.grants g
        where g.from_agent = agent_api_read_agent.agent_id and g.live_until > counted_at
        order by g.from_agent, g.live_until
        limit 1000
      ) given
    ),
    'grants_received', (
      select cardinality(artifacts.live_grant_ids(h.grantees, null, '{}', 1000))
      from artifacts.grantees_of(agent_api_read_agent.agent_id, null) h
    ),
    'keys', agents.newest_keys(agent_api_read_agent.agent_id, with_revoked => true),
    'blocked_senders', (
      select coalesce(json_agg(b.from_agent order by b.from_agent), '[]')
      from (
        select s.from_agent
        from artifacts.blocked_senders s
        where s.agent_id = agent_api_read_agent.agent_id
        order by s.agent_id, s.from_agent
        limit 100
      ) b
    ),
    'peer', (
      select p.described
      from mesh.describe_peers(
        array[agent_api_read_agent.agent_id], agent_api_read_agent.online_seconds,
        agent_api_read_agent.rendering_revision
      ) p
    )
  ) into answer
  from agents.describe_agents(array[agent_api_read_agent.agent_id]) d;
  return answer;
end
$$;
comment on function public.agent_api_read_agent(text, integer, integer) is
  'One agent: the fields of agent_api_list_agents except keys, and {grants_given, grants_received, '
  'keys: [{key_id, label | null, state: live | expired | revoked, created_at, expires_at | null, '
  'revoked_at | null, last_used_at | null}], blocked_senders: [agent_id], peer: in the form of '
  'agent_api_list_peers, with the same parameters | null}. Live grants are counted up to a '
  'thousand; those received include grants to its tags. keys has at most a hundred, those not '
  'revoked first, and blocked_senders as many. Null: nothing names this agent.';

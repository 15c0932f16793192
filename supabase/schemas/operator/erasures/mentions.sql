-- How often the tables name an agent: what an erasure still has to do.

create function agents.pattern_of_name(name text) returns text
language sql
immutable
return '(?<![A-Za-z0-9])' || replace(name, '.', '\.') || '(?![A-Za-z0-9])';
comment on function agents.pattern_of_name(text) is
  'A regular expression that finds a name in free text, and not within a longer word.';

create function agents.policy_contains(name text) returns boolean
language sql
stable
set search_path = ''
as $$
  -- A policy cannot name an agent whose identifier begins with tag:.
  select not starts_with(policy_contains.name, 'tag:') and (
    mesh.policy_names(array[policy_contains.name])
    or exists (
      select
      from mesh.policies p
      -- Comments and tests name agents, too. The words of the format itself do not, nor does a tag
      -- that only ends in the name.
      where regexp_replace(p.source, '"\w+"\s*:|"proto"\s*:\s*"\w+"|"expect"\s*:\s*"\w+"', '', 'g')
        ~ ('(?<![A-Za-z0-9_@-]|[A-Za-z0-9][.:])' || replace(policy_contains.name, '.', '\.')
          || '(?![A-Za-z0-9_@-]|[.:][A-Za-z0-9])')
    )
  )
$$;
comment on function agents.policy_contains(text) is
  'Whether the policy names an agent in its rules, or its file contains the name as a whole: in a '
  'comment or a test.';

create function agents.has_ended(enrolment agents.enrolments) returns boolean
language sql
stable
return enrolment.revoked_at is not null or coalesce(enrolment.expires_at <= now(), false);
comment on function agents.has_ended(agents.enrolments) is
  'Whether an enrolment was revoked or has expired, so that nobody can ever enrol with it again.';

create function agents.proofs_name(enrolment agents.enrolments, name text) returns boolean
language sql
stable
return coalesce(
  concat_ws(
    ' ',
    enrolment.issuer,
    enrolment.audience,
    enrolment.agent_template,
    enrolment.agent_prefix,
    jsonb_path_query_array(enrolment.conditions, '$[*].equals', silent => true),
    jsonb_path_query_array(enrolment.conditions, '$[*].prefix', silent => true),
    jsonb_path_query_array(enrolment.jwks, '$.keys[*].kid', silent => true)
  ) ~ agents.pattern_of_name(name),
  false
);
comment on function agents.proofs_name(agents.enrolments, text) is
  'Whether a name appears in the fields that decide who enrols, and as which agent: the issuer, '
  'the audience, the conditions, the template, the ids of public keys.';

create function agents.enrolments_deciding_by(name text) returns text[]
language sql
stable
return array(
  select e.enrolment_id
  from agents.enrolments e
  where e.agent_id is distinct from name and not agents.has_ended(e) and agents.proofs_name(e, name)
  order by e.created_at, e.enrolment_id
);
comment on function agents.enrolments_deciding_by(text) is
  'The live enrolments that name an agent in the fields that decide who enrols. An erasure does '
  'not change these fields, because then others, or nobody, could enrol. Enrolments for this agent '
  'alone are not listed.';

create function agents.count_mentions(name text) returns jsonb
language sql
stable
set search_path = ''
-- Of tables with an index by name, so many rows may be the agent's that reading all seems faster.
set enable_seqscan = off
as $$
  select jsonb_build_object(
    'agent_keys', (select count(*) from agents.keys k where k.agent_id = name),
    'files', (
      select count(*)
      from (
        (
          select from artifacts.artifacts a
          where a.agent_id = name and a.state <> 'deleted' and a.ended_at is null
          order by a.agent_id, a.expires_at
          limit 10000
        )
        union all
        (
          select from artifacts.artifacts a
          where a.agent_id = name and (a.state = 'deleted' or a.ended_at is not null)
          order by a.agent_id, a.artifact_id
          limit 10000
        )
      ) f
    ),
    'grants', (
      select count(*)
      from (
        (select from artifacts.grants g where g.from_agent = name order by g.from_agent, g.live_until limit 10000)
        union all
        (select from artifacts.grants g where g.grantee = name order by g.grantee, g.live_until limit 10000)
      ) g
    ),
    'peer', (select count(*) from mesh.peers p where p.agent_id = name),
    'rules', (
      select count(*) from mesh.rules r where r.from_agent = name or r.to_agent = name
    ),
    'usage', (select count(*) from agents.usage u where u.agent_id = name),
    'refusals', (
      select count(*) from (select from agents.refusals f where f.agent_id = name order by f.hour limit 10000) f
    ),
    -- With those that no feed shows yet.
    'events', (
      select count(*)
      from agents.newest_events(name, '18446744073709551615', 0, 10000, '18446744073709551615')
    ),
    'others', (
      (select count(*) from agents.reads r where name in (r.reader, r.subject_agent_id, r.other_agent_id))
      + (
        select count(*) from agents.repeated_changes c
        where name in (c.actor, c.subject_agent_id, c.other_agent_id)
      )
      + (select count(*) from agents.changed_things t where t.actor = name)
      + (select count(*) from artifacts.blocked_senders b where name in (b.agent_id, b.from_agent))
      + (select count(*) from artifacts.task_queues q where q.agent_id = name)
      + (
        select count(*)
        from (select from artifacts.tasks t where t.agent_id = name and t.to_tag is not null limit 10000) t
      )
      + (select count(*) from (select from artifacts.tasks t where t.taken_by = name limit 10000) t)
      + (
        select count(*)
        from (select from artifacts.hand_overs h where h.from_agent = name limit 10000) h
      )
      + (
        select count(*)
        from (
          select from artifacts.inbox_views v
          where v.grantee = name order by v.grantee, v.seen_through limit 10000
        ) v
      )
      + (select count(*) from artifacts.totals t where t.agent_id = name)
      + (
        select count(*)
        from (
          (select from artifacts.standing_grants s where s.from_agent = name
            order by s.from_agent, s.live_until limit 10000)
          union all
          (select from artifacts.standing_grants s where s.grantee = name
            order by s.grantee, s.live_until limit 10000)
        ) s
      )
      + (
        select count(*)
        from (
          select from artifacts.spent_versions s
          where s.agent_id = name order by s.agent_id, s.key_hash limit 10000
        ) s
      )
      + (select count(*) from artifacts.agent_limits l where l.agent_id = name)
      + (select count(*) from mesh.declined_requests d where name in (d.from_agent, d.to_agent))
      + (select count(*) from mesh.address_leases l where l.agent_id = name)
      + (select count(*) from mesh.config_versions v where v.agent_id = name)
      + (select count(*) from mesh.censuses c where c.after_agent = name)
      + (select count(*) from agents.removed_agents r where r.agent_id = name)
      + (select count(*) from agents.names n where n.agent_id = name)
      + (select count(*) from agents.agent_tags t where t.agent_id = name)
      + (select count(*) from agents.enrolled_agents a where a.agent_id = name)
      + (select count(*) from agents.former_holders f where f.agent_id = name)
      + (
        select count(*) from agents.enrolments e
        where e.agent_id = name
          or e.label ~ agents.pattern_of_name(name)
          or agents.has_ended(e) and agents.proofs_name(e, name)
      )
      + (
        select count(*) from agents.keys k
        where k.agent_id <> name and k.label ~ agents.pattern_of_name(name)
      )
      + (
        select count(*) from agents.webhooks w
        where w.agent_id = name or concat_ws(' ', w.url, w.label) ~ agents.pattern_of_name(name)
      )
      + agents.policy_contains(name)::integer
    )
  )
$$;
comment on function agents.count_mentions(text) is
  'How often the tables name an agent. The larger counts stop at 10,000 each.';

create function public.agent_api_count_mentions(agent_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'mentions', agents.count_mentions(agent_api_count_mentions.agent_id),
    'deciding_enrolments', agents.enrolments_deciding_by(agent_api_count_mentions.agent_id),
    'settled_before', pg_snapshot_xmin(pg_current_snapshot()),
    'open_writers', agents.open_writers(5)
  )
$$;
comment on function public.agent_api_count_mentions(text) is
  'What agent_api_erase_agent would remove or rewrite: {mentions: {agent_keys, files, grants, '
  'peer, rules, usage, refusals, events, others}, deciding_enrolments, settled_before, '
  'open_writers}. It does not change deciding_enrolments: live enrolments with the name in the '
  'fields that decide who enrols. Every transaction below settled_before has ended; open_writers '
  'are the oldest of the others.';

-- Changing the tags of agents.

create function agents.replace_tags(
  caller jsonb,
  agent_id text,
  tags text[],
  enrolment_id text default null
) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  max_tags constant integer := 32;
  tags_before constant text[] := agents.tags_of(replace_tags.agent_id);
  tags_after text[];
  added text[];
  removed text[];
begin
  delete from agents.agent_tags t
  where t.agent_id = replace_tags.agent_id
    and t.tag <> all (replace_tags.tags)
    -- An enrolment removes only tags that it gave; the operator removes any.
    and (replace_tags.enrolment_id is null or t.enrolment_id = replace_tags.enrolment_id);
  insert into agents.agent_tags (agent_id, tag, enrolment_id)
  select distinct replace_tags.agent_id, g.tag, replace_tags.enrolment_id
  from unnest(replace_tags.tags) as g (tag)
  on conflict do nothing;

  tags_after := agents.tags_of(replace_tags.agent_id);
  if cardinality(tags_after) > max_tags then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'tags', 'maximum', max_tags);
  end if;
  added := array(
    select a from unnest(tags_after) a where a <> all (tags_before) order by a collate "C"
  );
  removed := array(
    select b from unnest(tags_before) b where b <> all (tags_after) order by b collate "C"
  );
  if cardinality(added || removed) > 0 then
    perform agents.record_event(
      replace_tags.caller, null, 'agent.tagged', replace_tags.agent_id, null,
      jsonb_build_object('tags', tags_after, 'added', added, 'removed', removed)
    );
    perform mesh.follow_tags(replace_tags.caller, replace_tags.agent_id, added || removed);
  end if;
  return tags_after;
end
$$;
comment on function agents.replace_tags(jsonb, text, text[], text) is
  'Makes these the tags of an agent, and returns the tags that it has now. With enrolment_id, '
  'replaces only the tags that came from that enrolment. The agent''s rules of the policy change '
  'accordingly. Call it under end_access(agent_id). If the mesh is locked before, also call '
  'enter_policy before that. Raises limit_exceeded.';

create function agents.refuse_wrong_tags(agent_id text, tags text[]) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if agents.is_agent_id(refuse_wrong_tags.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if refuse_wrong_tags.tags is null or exists (
    select
    from unnest(refuse_wrong_tags.tags) as g (tag)
    where agents.is_tag(g.tag) is not true
  ) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "tags", "message": "Each must be tag: and 1 to 63 of a-z 0-9 - that begin with a letter or digit."}]}';
  end if;
end
$$;
comment on function agents.refuse_wrong_tags(text, text[]) is
  'Raises invalid_request unless these are an agent''s name and tags.';

create function public.agent_api_count_tag_losses(agent_id text, tags text[]) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  max_counted constant integer := 10000;
  tags_before constant text[] := agents.tags_of(agent_api_count_tag_losses.agent_id);
  changed text[];
  removed text[];
begin
  perform agents.refuse_wrong_tags(agent_api_count_tag_losses.agent_id, agent_api_count_tag_losses.tags);
  removed := array(
    select b from unnest(tags_before) b where b <> all (agent_api_count_tag_losses.tags) order by b collate "C"
  );
  changed := removed || array(select a from unnest(agent_api_count_tag_losses.tags) a where a <> all (tags_before));
  return json_build_object(
    'tags', removed,
    'rules', (
      select count(*)
      from unnest(
        case
          when mesh.policy_names(changed)
          then mesh.policy_changes_of(agent_api_count_tag_losses.agent_id, agent_api_count_tag_losses.tags)
        end
      ) as c
      where not c.is_added
    ),
    'grants', (
      select count(*)
      from (
        select
        from unnest(removed) as r (tag)
        join artifacts.grants g on g.grantee = artifacts.grantee(null, r.tag)
        where g.live_until > now()
        limit max_counted
      ) g
    )
  );
end
$$;
comment on function public.agent_api_count_tag_losses(text, text[]) is
  'What an agent loses if these become its tags: {tags, rules, grants}. tags: the tags that it '
  'loses; rules: how many rules of the policy it loses; grants: how many live grants are to a tag '
  'that it loses, at most 10,000. Raises invalid_request.';

create function public.agent_api_set_agent_tags(agent_id text, tags text[]) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  perform agents.refuse_wrong_tags(agent_api_set_agent_tags.agent_id, agent_api_set_agent_tags.tags);
  perform agents.end_access(agent_api_set_agent_tags.agent_id);
  return json_build_object(
    'agent_id', agent_api_set_agent_tags.agent_id,
    'tags', agents.replace_tags(
      '{"kind": "operator"}', agent_api_set_agent_tags.agent_id, agent_api_set_agent_tags.tags
    )
  );
end
$$;
comment on function public.agent_api_set_agent_tags(text, text[]) is
  'Replaces the tags of an agent: {agent_id, tags}. Its next enrolment gives it the enrolment''s '
  'tags again. Raises invalid_request, limit_exceeded.';

-- Tags of agents, by which grants and the policy name many agents at once. They come from the
-- operator and from enrolments, never from a request of the agent. operator/tags.sql sets them.

create function agents.is_tag(name text) returns boolean
language sql
immutable
return length(is_tag.name) <= 67 and is_tag.name collate "C" ~ '^tag:[a-z0-9][a-z0-9-]*$';
comment on function agents.is_tag(text) is 'Whether this can be a tag.';

create domain agents.tag as text collate "C"
  constraint tag_is_well_formed check (agents.is_tag(value));
comment on domain agents.tag is 'A tag of an agent, such as tag:builder.';

create table agents.agent_tags (
  agent_id agents.agent_id not null,
  tag agents.tag not null,
  enrolment_id text collate "C",
  transaction_id xid8 not null default agents.present_transaction(),

  constraint an_agent_has_a_tag_once primary key (agent_id, tag)
);
comment on table agents.agent_tags is 'Which agents have which tags.';
comment on column agents.agent_tags.enrolment_id is
  'The enrolment that gave the tag and can take it away; null: the operator gave it.';
comment on column agents.agent_tags.transaction_id is
  'The transaction that gave the tag. If the snapshot of an earlier read does not include it, the '
  'agent got the tag after that read.';

create index agent_tags_by_tag on agents.agent_tags (tag, agent_id);
create index agent_tags_by_enrolment on agents.agent_tags (enrolment_id, agent_id)
  where enrolment_id is not null;

create function agents.tags_of(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(t.tag::text order by t.tag), '{}')
    from agents.agent_tags t
    where t.agent_id = tags_of.agent_id
  );
end
$$;
comment on function agents.tags_of(text) is 'The tags of an agent, in byte order.';

-- Grants as work. A grant that nobody has looked at as work has no row here: its task waits. The
-- first look of /inbox/take makes the rows of an agent's new grants (filling.sql), so that a grant
-- costs its giver nothing more, whoever uses tasks.

create table artifacts.tasks (
  grant_id text collate "C" not null references artifacts.grants (grant_id) on delete cascade,
  agent_id agents.agent_id,
  to_tag agents.tag,
  queue text collate "C" not null
    generated always as (coalesce(agent_id, '') || coalesce('#' || to_tag, '')) stored,
  state text collate "C" not null default 'waiting',
  attempt integer not null default 0,
  max_attempts integer not null default 5,
  ready_at timestamptz,
  take_id text collate "C",
  taken_by agents.agent_id,
  first_taken_at timestamptz,
  done_at timestamptz,
  reason text,
  reply_grant_id text collate "C",
  waits_again_since xid8,

  constraint an_agent_has_a_task_once primary key (grant_id, queue),
  constraint a_task_is_of_an_agent_or_of_a_tag check (agent_id is not null or to_tag is not null),
  constraint task_state_is_known check (state in ('waiting', 'taken', 'done', 'parked')),
  constraint a_task_is_ready_until_it_is_over check ((ready_at is null) = (state in ('done', 'parked'))),
  constraint done_at_is_set_when_done check ((done_at is null) = (state <> 'done')),
  constraint a_taken_task_has_a_take check (state <> 'taken' or take_id is not null and taken_by is not null),
  constraint take_id_is_well_formed check (length(take_id) = 37 and take_id ~ '^take_[0-9a-f]*$'),
  constraint reason_is_1_to_500_characters check (length(reason) between 1 and 500),
  constraint reply_is_a_grant_id check (length(reply_grant_id) = 38 and reply_grant_id ~ '^grant_[0-9a-f]*$')
)
-- A task is updated twice at least.
with (fillfactor = 70);
comment on table artifacts.tasks is
  'One row per grant and queue, made when an agent of the queue first looks for work, and deleted '
  'with its grant. Work that an agent of a tag shares with the others is in the queue of the tag.';
comment on column artifacts.tasks.agent_id is
  'Whose task it is; null: exactly one agent of the tag works on it.';
comment on column artifacts.tasks.to_tag is 'The tag of a grant to a tag.';
comment on column artifacts.tasks.queue is
  'An agent, or `#` and a tag (one of its agents), or both (each of its agents).';
comment on column artifacts.tasks.attempt is 'How often it was taken since it was last requeued, without the takes that were interrupted.';
comment on column artifacts.tasks.max_attempts is 'After how many attempts it is parked.';
comment on column artifacts.tasks.ready_at is
  'From when on it can be taken: after its pause, or when its take lapses. So a lapse needs no '
  'clock: the next look finds the task like any other that is ready.';
comment on column artifacts.tasks.take_id is
  'The last take. Whoever names an earlier one is refused.';
comment on column artifacts.tasks.taken_by is 'The agent of the last take, or that finished it.';
comment on column artifacts.tasks.first_taken_at is
  'When its grantee first took it, and so has seen it.';
comment on column artifacts.tasks.done_at is 'When it was done.';
comment on column artifacts.tasks.reason is 'Why the last attempt failed, in its taker''s words.';
comment on column artifacts.tasks.reply_grant_id is
  'The grant that answers it, made by /inbox/done in the same transaction.';
comment on column artifacts.tasks.waits_again_since is
  'The transaction that made it wait again, for whoever waits for news; null: it did not, or was '
  'taken since.';

-- What can be taken, oldest first. Tasks that are done or parked are not in it, so a take does not
-- read them.
create index ready_tasks on artifacts.tasks (queue, ready_at, grant_id) where ready_at is not null;
create unique index tasks_by_take on artifacts.tasks (take_id) where take_id is not null;
-- For the end of an agent, which must not read what it has done.
create index tasks_by_taker on artifacts.tasks (taken_by, state, grant_id) where taken_by is not null;
create index tasks_by_agent on artifacts.tasks (agent_id, grant_id) where to_tag is not null;
-- These two are for the sweep, and for whoever looks after the project.
create index takes_by_end on artifacts.tasks (ready_at) where state = 'taken';
create index parked_tasks on artifacts.tasks (grant_id, queue) where state = 'parked';
create index tasks_waiting_again on artifacts.tasks (queue, waits_again_since)
  where waits_again_since is not null;

create table artifacts.task_queues (
  agent_id agents.agent_id,
  to_tag agents.tag,
  queue text collate "C" generated always as (coalesce(agent_id, '') || coalesce('#' || to_tag, '')) stored
    primary key,
  filled_through xid8 not null default '0',

  constraint a_queue_is_of_an_agent_or_of_a_tag check (agent_id is not null or to_tag is not null)
);
comment on table artifacts.task_queues is
  'Up to where the grants of a queue have become rows of artifacts.tasks. One row per queue that '
  'an agent has looked at.';
comment on column artifacts.task_queues.to_tag is 'As in artifacts.tasks.';
comment on column artifacts.task_queues.queue is 'As in artifacts.tasks.';
comment on column artifacts.task_queues.filled_through is
  'Every grant of this and of earlier transactions was looked at.';

create index task_queues_by_agent on artifacts.task_queues (agent_id) where agent_id is not null;

create function artifacts.queues_of(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array[queues_of.agent_id] || array(
    select q.queue
    from agents.agent_tags t
    cross join lateral (values ('#' || t.tag), (queues_of.agent_id || '#' || t.tag)) q (queue)
    where t.agent_id = queues_of.agent_id
    order by q.queue
  );
end
$$;
comment on function artifacts.queues_of(text) is
  'The queues whose tasks an agent may take: its own, and for each tag that it has now, what one '
  'of the tag''s agents works on and what each works on.';

create function artifacts.queue_of(agent_id text, to_tag text, is_shared boolean) returns text
language sql
immutable
-- Inlined.
return case when to_tag is not null and is_shared then '' else agent_id end || coalesce('#' || to_tag, '');
comment on function artifacts.queue_of(text, text, boolean) is
  'The queue in which an agent finds the task of a grant.';

create function artifacts.state_now(state text, ready_at timestamptz, attempt integer, max_attempts integer) returns text
language sql
stable
-- Inlined.
return case
  when state is null then 'waiting'
  when state = 'taken' and ready_at <= now() then case when attempt < max_attempts then 'waiting' else 'parked' end
  else state
end;
comment on function artifacts.state_now(text, timestamptz, integer, integer) is
  'The state of a task, by the columns of its row (null if it has no row). A take that has lapsed '
  'counts, even if no look has found it yet.';

create function artifacts.entry_json(
  given artifacts.grants,
  artifact artifacts.artifacts,
  note text,
  reply_to text,
  is_shared boolean,
  task artifacts.tasks
) returns jsonb
language sql
stable
-- Inlined.
return artifacts.content_json(artifact) || jsonb_build_object(
  'grant_id', given.grant_id,
  'from_agent', given.from_agent,
  'granted_at', agents.iso_timestamp(given.granted_at),
  'expires_at', agents.iso_timestamp(given.expires_at),
  'note', note,
  'reply_to', reply_to,
  'deliver', artifacts.delivery(is_shared),
  'superseded', artifact.state = 'superseded',
  'state', artifacts.state_now(task.state, task.ready_at, task.attempt, task.max_attempts),
  'attempt', coalesce(task.attempt, 0),
  'next_at', case when task.state = 'waiting' and task.ready_at > now() then agents.iso_timestamp(task.ready_at) end
);
comment on function artifacts.entry_json(
  artifacts.grants, artifacts.artifacts, text, text, boolean, artifacts.tasks
) is 'An entry of an inbox; task is null if nobody has looked at the grant as work.';

create function artifacts.record_task(
  caller jsonb,
  caller_agent text,
  action text,
  agent_id text,
  given artifacts.grants,
  more jsonb
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_event(
    record_task.caller, record_task.caller_agent, record_task.action, record_task.agent_id,
    (record_task.given).grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', (record_task.given).artifact_id, 'to_tag', (record_task.given).to_tag
    ) || record_task.more),
    (record_task.given).from_agent
  );
end
$$;
comment on function artifacts.record_task(jsonb, text, text, text, artifacts.grants, jsonb) is
  'Writes an event about an agent''s task. The giver sees it too.';

create function artifacts.refuse_ended_grant(given artifacts.grants) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  if (refuse_ended_grant.given).revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;
  if (refuse_ended_grant.given).expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = (refuse_ended_grant.given).artifact_id;
  perform artifacts.refuse_ended(artifact);
end
$$;
comment on function artifacts.refuse_ended_grant(artifacts.grants) is
  'A grant that ends takes its task along, in every state. Raises grant_revoked, grant_expired, '
  'artifact_expired.';

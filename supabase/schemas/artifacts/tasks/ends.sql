-- An agent ends: its tasks, and what it said.

create function artifacts.release_tasks(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update artifacts.tasks t
  set ready_at = clock_timestamp()
  where t.taken_by = release_tasks.agent_id and t.state = 'taken' and t.ready_at > clock_timestamp();
  -- Its tasks of its tags. Those of grants to itself end with these grants.
  delete from artifacts.tasks t where t.agent_id = release_tasks.agent_id and t.to_tag is not null;
  delete from artifacts.task_queues q where q.agent_id = release_tasks.agent_id;
end
$$;
comment on function artifacts.release_tasks(text) is
  'Ends an agent as a worker: its takes lapse now, so that other agents of its tags get the tasks '
  'at once. Call it under end_access.';

create function artifacts.erase_tasks(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  erased integer;
  most integer;
begin
  -- As a rule, the agent's grants have taken its own words along.
  delete from artifacts.hand_overs h
  where h.grant_id = any (array(
    select s.grant_id from artifacts.hand_overs s where s.from_agent = name limit max_entries
  ));
  get diagnostics most = row_count;
  delete from artifacts.tasks t
  where (t.grant_id, t.queue) in (
    select e.grant_id, e.queue
    from artifacts.tasks e
    where e.agent_id = name and e.to_tag is not null
    order by e.agent_id, e.grant_id
    limit max_entries
  );
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  -- The taker's words go with its name. What became of the task stays.
  update artifacts.tasks t
  set taken_by = pseudonym, reason = null
  where (t.grant_id, t.queue) in (
    select e.grant_id, e.queue
    from artifacts.tasks e
    where e.taken_by = name
    order by e.taken_by, e.grant_id
    limit max_entries
  );
  get diagnostics erased = row_count;
  return greatest(most, erased);
end
$$;
comment on function artifacts.erase_tasks(text, text, integer) is
  'Erases up to max_entries rows of each kind that name an agent in tasks, and what it said about '
  'grants; returns the largest number of one kind.';

-- An upload URL does not limit the size, and works for two hours, whatever happens to its artifact.
-- The sweep removes surplus uploads, but anyone with the URL can upload again. So the surplus bytes
-- that were seen count against the artifact's owner, which cannot register anything while it is
-- over its quota.

create index surplus_uploads_by_agent on artifacts.artifacts (agent_id) include (surplus_bytes)
  where surplus_bytes is not null;
create index surplus_uploads_by_age on artifacts.artifacts (surplus_seen_at)
  where surplus_bytes is not null;

create function artifacts.surplus_of(artifact artifacts.artifacts) returns table (bytes bigint)
language sql
stable
begin atomic
  select u.size - u.allowed
  from (
    select (o.metadata ->> 'size')::bigint as size,
      case
        when (surplus_of.artifact).state = 'pending' and (surplus_of.artifact).ended_at is null
          then (surplus_of.artifact).size_bytes
        else 0
      end as allowed
    from artifacts.current_objects o
    where o.name collate "C" = artifacts.incoming_path((surplus_of.artifact).artifact_id)
    limit 1
  ) u
  where u.size > u.allowed;
end;
comment on function artifacts.surplus_of(artifacts.artifacts) is
  'How many excess bytes an artifact has at its upload path: for a pending one, those beyond its '
  'registered size; for any other, all of them. No row: none.';

create function public.agent_api_record_surplus_uploads(caller jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- As many uploads as agent_api_collect_dead_objects looks at, and some that are next to be
  -- cleared.
  names_per_call constant integer := 200;
  cleared_per_call constant integer := 200;
  cleared_before constant timestamptz := now() - interval '1 hour';
  looked_at text[];
  changed_ids text[];
begin
  perform agents.authenticate_operator(agent_api_record_surplus_uploads.caller);
  perform artifacts.lock_sweep();

  looked_at := array(
    select split_part(o.name, '/', 2)
    from artifacts.halves_of_bucket() h
    cross join lateral artifacts.current_names(h.after, h.up_to, names_per_call) o
    where h.half = 'uploads'
    union
    (
      select a.artifact_id
      from artifacts.artifacts a
      where a.surplus_bytes is not null and a.surplus_seen_at < cleared_before
      order by a.surplus_seen_at
      limit cleared_per_call
    )
  );
  changed_ids := array(
    select a.artifact_id
    from unnest(looked_at) as named (artifact_id)
    -- One index lookup per id.
    cross join lateral (
      select i.* from artifacts.artifacts i where i.artifact_id = named.artifact_id limit 1
    ) a
    where a.surplus_seen_at < cleared_before or exists (select from artifacts.surplus_of(a))
  );
  changed_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (changed_ids)
    for update skip locked
  );

  update artifacts.artifacts a
  set (surplus_bytes, surplus_seen_at) = (select s.bytes, clock_timestamp() from artifacts.surplus_of(a) s)
  where a.artifact_id = any (changed_ids);
  return json_build_object('looked_at', cardinality(looked_at));
end
$$;
comment on function public.agent_api_record_surplus_uploads(jsonb) is
  'Records the excess bytes of the uploads that agent_api_collect_dead_objects looks at next, '
  'before they are removed, and clears excess that was not seen again for an hour. Returns '
  '{looked_at: how many artifacts}. Raises forbidden for an agent.';

create function mesh.subject_of(caller jsonb, agent_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(subject_of.caller);
begin
  if caller_agent <> subject_of.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  if caller_agent is null and subject_of.agent_id is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Required from the operator."}]}';
  end if;
  return coalesce(caller_agent, subject_of.agent_id);
end
$$;
comment on function mesh.subject_of(jsonb, text) is
  'Whom a read is about: the calling agent, which need not name itself, or the agent that the operator names. Raises forbidden, invalid_request.';

create function public.read_netmap(caller jsonb, agent_id text, online_seconds integer) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := mesh.subject_of(read_netmap.caller, read_netmap.agent_id);
  answer json;
begin
  with entries as (
    select
      p.*,
      p.agent_id = subject as self,
      case when pair.made_at is not null then pair.psk_version end as psk_version,
      case when p.agent_id <> subject then l.config_version_applied end as config_version_applied
    from mesh.peer_objects(mesh.visible_peers(subject) || subject, read_netmap.online_seconds) p
    join mesh.liveness l on l.agent_id = p.agent_id
    left join mesh.pairs pair
      on pair.low_agent = least(p.agent_id collate "C", subject collate "C")
      and pair.high_agent = greatest(p.agent_id collate "C", subject collate "C")
  )
  select json_build_object(
    'agent_id', subject,
    'config_version', (select v.version from mesh.config_versions v where v.agent_id = subject),
    'peers', (select json_agg(e order by e.agent_id collate "C") from entries e),
    'acls', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
      )
      from mesh.rules r
      where (r.from_agent = subject or r.to_agent = subject) and r.active
    ),
    'acl_requests', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto,
            'waiting_for', mesh.waiting_for(r)
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
      )
      from mesh.rules r
      where (r.from_agent = subject or r.to_agent = subject) and not r.active
    )
  ) into answer
  from mesh.peers own
  where own.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.read_netmap(jsonb, text, integer) is
  'What an agent sees: itself and the peers that share an active rule with it, the active rules that name it, and the requests that do. Raises forbidden, invalid_request, peer_not_found.';

revoke all on function
  mesh.subject_of(jsonb, text),
  public.read_netmap(jsonb, text, integer)
from public, anon, authenticated;

grant execute on function
  mesh.subject_of(jsonb, text),
  public.read_netmap(jsonb, text, integer)
to service_role;

-- Heartbeats say that a peer is online, and which configuration version it runs.

create function mesh.lags(liveness mesh.liveness, version bigint, rendering_revision integer) returns boolean
language sql
immutable
return (lags.liveness).config_version_applied <> lags.version + lags.rendering_revision;
comment on function mesh.lags(mesh.liveness, bigint, integer) is
  'Whether a peer runs another configuration than the current one; null: it never reported one. '
  'version is the one in mesh.config_versions. What hosts receive and report is that version plus '
  'the rendering_revision of the functions.';

create function mesh.note_sign_of_life(
  agent_id text,
  config_version bigint,
  rendering_revision integer,
  wait_seconds integer,
  paths_reported_at timestamptz,
  problem jsonb
) returns json
language plpgsql
volatile
set search_path = ''
as $$
declare
  seen_at timestamptz;
begin
  update mesh.liveness l
  -- Both columns get the same time: this tells mesh.paths_hold that the newest heartbeat reported
  -- the paths.
  set last_seen = coalesce(note_sign_of_life.paths_reported_at, clock_timestamp()),
      paths_reported_at = coalesce(note_sign_of_life.paths_reported_at, l.paths_reported_at),
      config_version_applied = coalesce(note_sign_of_life.config_version, l.config_version_applied),
      config_version_highest = greatest(
        l.config_version_highest,
        -- agent_api_after_restore begins at the time in units of 10 microseconds, and versions rise
        -- more slowly. So a higher one was never handed out.
        case
          when note_sign_of_life.config_version <= extract(epoch from clock_timestamp()) * 100000
            then note_sign_of_life.config_version
        end
      ),
      -- greatest ignores nulls.
      rendering_revision_highest = greatest(
        l.rendering_revision_highest, note_sign_of_life.rendering_revision
      ),
      waits_until = case
        when note_sign_of_life.wait_seconds > 0
          then clock_timestamp() + make_interval(secs => note_sign_of_life.wait_seconds)
      end,
      -- A host that runs a configuration has a tunnel. A process of the agent that only waits for
      -- files knows nothing of the host, and sends neither.
      problem = case
        when note_sign_of_life.problem is not null then note_sign_of_life.problem ->> 'code'
        when note_sign_of_life.config_version is null then l.problem
      end,
      problem_network = case
        when note_sign_of_life.problem is not null
          then network((note_sign_of_life.problem ->> 'network')::inet)
        when note_sign_of_life.config_version is null then l.problem_network
      end
  where l.agent_id = note_sign_of_life.agent_id
  returning l.last_seen into seen_at;
  return (
    select json_build_object(
      'agent_id', v.agent_id,
      'last_seen', agents.iso_timestamp(seen_at),
      'config_version', v.version
    )
    from mesh.config_versions v
    where v.agent_id = note_sign_of_life.agent_id and seen_at is not null
  );
end
$$;
comment on function mesh.note_sign_of_life(text, bigint, integer, integer, timestamptz, jsonb) is
  'Records that an agent is alive, which configuration it runs if it says so, the '
  'rendering_revision of the functions that it asked (null: not known), how long it will '
  'wait for the answer, when it reported its paths if it did, and its problem. Returns what '
  'agent_api_record_heartbeat returns, or null without a peer.';

create function public.agent_api_record_heartbeat(
  caller jsonb,
  agent_id text,
  config_version bigint,
  wait_seconds integer default 0,
  paths jsonb default null,
  rendering_revision integer default null,
  problem jsonb default null,
  refused jsonb default null,
  refused_per_hour integer default 0
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
  paths_reported_at timestamptz;
  answer json;
begin
  caller_agent := agents.admit(agent_api_record_heartbeat.caller);
  subject := agents.require_self(caller_agent, agent_api_record_heartbeat.agent_id);
  if agent_api_record_heartbeat.refused is not null then
    perform mesh.note_refused(
      agent_api_record_heartbeat.caller, caller_agent, subject,
      agent_api_record_heartbeat.refused, agent_api_record_heartbeat.refused_per_hour
    );
  end if;
  if agent_api_record_heartbeat.paths is not null then
    paths_reported_at := mesh.note_paths(subject, agent_api_record_heartbeat.paths);
  end if;
  answer := mesh.note_sign_of_life(
    subject, agent_api_record_heartbeat.config_version,
    agent_api_record_heartbeat.rendering_revision, agent_api_record_heartbeat.wait_seconds,
    paths_reported_at, agent_api_record_heartbeat.problem
  );
  if answer is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_record_heartbeat(
  jsonb, text, bigint, integer, jsonb, integer, jsonb, jsonb, integer
) is
  'Records that an agent is alive, which configuration it runs if it says so, how long it will '
  'wait for the answer, its paths (as mesh.note_paths takes them; null: not reported), and its '
  'problem, {code, network | null}; a configuration without a problem ends an earlier one. Writes '
  'at most refused_per_hour events about the connections that its host refused (as '
  'mesh.note_refused takes them). Returns the version that it should run. Raises forbidden, invalid_request, peer_not_found.';

create function public.agent_api_read_heartbeat(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_read_heartbeat.caller, agent_api_read_heartbeat.agent_id);
  answer json;
begin
  select json_build_object(
    'agent_id', l.agent_id,
    'last_seen', agents.iso_timestamp(l.last_seen),
    'config_version', v.version
  ) into answer
  from mesh.liveness l
  join mesh.config_versions v on v.agent_id = l.agent_id
  where l.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_read_heartbeat(jsonb, text) is
  'What agent_api_record_heartbeat returns, read after a wait: a heartbeat counts when it arrives. '
  'Raises forbidden, invalid_request, peer_not_found.';

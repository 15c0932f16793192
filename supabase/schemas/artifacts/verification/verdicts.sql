-- The end of a verification: compares what was observed with what was registered.

create function public.agent_api_finish_commit(
  caller jsonb,
  artifact_id text,
  lease_token uuid,
  expected_sha256 text,
  observed_size bigint,
  observed_sha256 text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
  decided_attempt integer;
  superseded_id text;
  promised_ids text[];
begin
  caller_agent := agents.admit(agent_api_finish_commit.caller);
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = agent_api_finish_commit.artifact_id;

  -- Commits of one `key` run one at a time, so that exactly one artifact is current. This lock
  -- comes before any row lock, so that two commits cannot deadlock.
  perform pg_advisory_xact_lock(
    hashtextextended('artifact key ' || artifact.agent_id || '/' || artifact.key, 0)
  );
  promised_ids := artifacts.lock_standing_of(artifact.agent_id, artifact.key);

  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = agent_api_finish_commit.artifact_id
  for update;

  -- Whatever the verdict is, the attempt ends here.
  delete from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id and v.lease_token = agent_api_finish_commit.lease_token
  returning v.attempt into decided_attempt;

  if not found then
    perform artifacts.refuse_ended(artifact);
    if artifact.state <> 'pending' and artifact.sha256 = agent_api_finish_commit.expected_sha256 then
      return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
    end if;
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  if agent_api_finish_commit.observed_size <> artifact.size_bytes
    or agent_api_finish_commit.observed_sha256 is distinct from agent_api_finish_commit.expected_sha256
  then
    update artifacts.artifacts a
    set rejected_attempts = decided_attempt
    where a.artifact_id = artifact.artifact_id;

    if agent_api_finish_commit.observed_size <> artifact.size_bytes then
      return json_build_object(
        'verdict', 'size_mismatch', 'expected', artifact.size_bytes, 'actual',
        agent_api_finish_commit.observed_size
      );
    end if;
    return json_build_object(
      'verdict', 'checksum_mismatch', 'expected', agent_api_finish_commit.expected_sha256, 'actual',
      agent_api_finish_commit.observed_sha256
    );
  end if;

  -- Select first, because an update runs its triggers even if it finds no row.
  select a.artifact_id into superseded_id
  from artifacts.artifacts a
  where a.agent_id = artifact.agent_id
    and a.key = artifact.key
    and a.state = 'committed'
    and a.ended_at is null
  for update;
  if found then
    update artifacts.artifacts a set state = 'superseded' where a.artifact_id = superseded_id;
  end if;

  update artifacts.artifacts a
  set state = 'committed',
      sha256 = agent_api_finish_commit.observed_sha256,
      version = artifacts.next_version(a.agent_id, a.key),
      sealed_attempt = decided_attempt,
      committed_at = committed.at,
      expires_at = committed.at + make_interval(hours => 24 * a.ttl_days)
  from (select clock_timestamp() as at) committed
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;

  perform agents.record_event(
    agent_api_finish_commit.caller, caller_agent, 'artifact.committed',
    artifact.agent_id, artifact.artifact_id,
    jsonb_build_object(
      'key', artifact.key, 'sha256', artifact.sha256, 'version', artifact.version,
      'superseded', superseded_id
    )
  );
  if superseded_id is not null then
    perform agents.record_event(
      agent_api_finish_commit.caller, caller_agent, 'artifact.superseded', artifact.agent_id,
      superseded_id,
      jsonb_build_object('key', artifact.key, 'superseded_by', artifact.artifact_id)
    );
  end if;
  perform artifacts.grant_committed(agent_api_finish_commit.caller, caller_agent, artifact, promised_ids);
  if artifact.keep_versions is not null then
    perform artifacts.end_surplus_versions(agent_api_finish_commit.caller, caller_agent, artifact);
  end if;
  return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
end
$$;
comment on function public.agent_api_finish_commit(jsonb, text, uuid, text, bigint, text) is
  'Decides on what was observed at the leased sealed path: {verdict: "committed", artifact}, or '
  '{verdict: "size_mismatch" | "checksum_mismatch", expected, actual}. After a mismatch, the '
  'caller must remove the object at that path. Raises commit_in_progress if the lease was lost: '
  'then the caller must remove nothing. Raises unauthenticated if the caller''s access ended '
  'during the verification.';

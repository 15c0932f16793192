-- Names that look the same: Unicode has several spellings of one text, such as `é` as one character
-- or as `e` and an accent. A file from a Mac often has another spelling than the one that is typed.

-- A hash, because a normalized name may be too long for an index. Only names that are not ASCII
-- have another spelling.
create index artifacts_by_composed_name
  on artifacts.artifacts (agent_id, hashtextextended(normalize(key, nfc), 0))
  where state = 'committed' and ended_at is null and octet_length(key) > char_length(key);

create function artifacts.named_artifact(agent_id text, key text, caller_agent text)
returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  exact artifacts.artifacts := artifacts.current_artifact(named_artifact.agent_id, named_artifact.key);
  instant timestamptz := clock_timestamp();
  is_own boolean := named_artifact.caller_agent is not distinct from named_artifact.agent_id
    or named_artifact.caller_agent is null;
  same_looking text[];
  artifact artifacts.artifacts;
begin
  if octet_length(named_artifact.key) = char_length(named_artifact.key)
    or (exact.artifact_id is not null
      and (is_own or artifacts.is_granted(exact.artifact_id, named_artifact.caller_agent, instant)))
  then
    return exact;
  end if;

  select array_agg(named.artifact_id order by named.artifact_id) into same_looking
  from (
    select a.artifact_id
    from artifacts.artifacts a
    where a.agent_id = named_artifact.agent_id
      and a.state = 'committed'
      and a.ended_at is null
      and octet_length(a.key) > char_length(a.key)
      and hashtextextended(normalize(a.key, nfc), 0)
        = hashtextextended(normalize(named_artifact.key, nfc), 0)
      and normalize(a.key, nfc) = normalize(named_artifact.key, nfc)
      and a.key <> named_artifact.key
      and a.expires_at > instant
      -- What the caller cannot open must not change the answer.
      and (is_own or artifacts.is_granted(a.artifact_id, named_artifact.caller_agent, instant))
    limit 10
  ) named;

  if cardinality(same_looking) > 1 then
    raise sqlstate 'PT404' using
      message = 'artifact_not_found',
      detail = json_build_object('same_looking', to_json(same_looking)),
      hint = format(
        'Several files have names that look like this one, in other Unicode spellings. Use the id of one: %s.',
        array_to_string(same_looking, ', ')
      );
  end if;
  if same_looking is null then
    return exact;
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = same_looking[1];
  return artifact;
end
$$;
comment on function artifacts.named_artifact(text, text, text) is
  'The artifact that an agent''s `key` names for a caller (null: the operator): the one of exactly '
  'this name or, if the caller can open none, the only one whose name is another Unicode spelling '
  'of it. Null: none. Only for reads: nothing is written under a name that was not given exactly. '
  'Raises artifact_not_found if several other spellings exist.';

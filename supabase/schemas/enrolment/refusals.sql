-- Why enrolments were refused. Only the operator sees the reasons, in the event log.

create table agents.enrolment_refusals (
  enrolment_id text collate "C" not null,
  reason text collate "C" not null,
  minute timestamptz not null,
  count integer not null,

  constraint refusals_are_counted_by_reason primary key (enrolment_id, reason)
)
with (fillfactor = 50);
comment on table agents.enrolment_refusals is
  'How often an enrolment was refused for a reason, in the newest minute with a refusal. This '
  'limits the events, so that strangers cannot fill the log. enrolment_id is empty if the token '
  'names no enrolment.';

create function agents.record_enrolment_refusal(
  caller jsonb,
  enrolment_id text,
  reason text,
  claim text default null,
  detail text default null
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  told_a_minute constant integer := 20;
  this_minute constant timestamptz := date_trunc('minute', clock_timestamp());
  seen agents.enrolment_refusals;
  missed integer;
begin
  select * into seen
  from agents.enrolment_refusals r
  where r.enrolment_id = coalesce(record_enrolment_refusal.enrolment_id, '')
    and r.reason = record_enrolment_refusal.reason
  for update;
  missed := case when seen.minute < this_minute then greatest(seen.count - told_a_minute, 0) end;

  insert into agents.enrolment_refusals as r (enrolment_id, reason, minute, count)
  values (
    coalesce(record_enrolment_refusal.enrolment_id, ''), record_enrolment_refusal.reason, this_minute, 1
  )
  on conflict on constraint refusals_are_counted_by_reason do update
  set minute = excluded.minute,
    count = case when r.minute = excluded.minute then r.count + 1 else 1 end
  returning * into seen;
  if seen.count > told_a_minute then
    return;
  end if;
  perform agents.record_event(
    record_enrolment_refusal.caller, null, 'enrolment.refused', null,
    record_enrolment_refusal.enrolment_id,
    jsonb_strip_nulls(jsonb_build_object(
      'reason', record_enrolment_refusal.reason,
      'claim', record_enrolment_refusal.claim,
      'detail', record_enrolment_refusal.detail,
      'untold', nullif(missed, 0)
    ))
  );
end
$$;
comment on function agents.record_enrolment_refusal(jsonb, text, text, text, text) is
  'Writes why an enrolment was refused, for the operator: up to 20 events a minute for each reason '
  'of an enrolment. `untold` is how many more there were in the previous minute with a refusal.';

create function agents.refuse_enrolment(
  caller jsonb,
  enrolment_id text,
  reason text,
  claim text default null
) returns json
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_enrolment_refusal(
    refuse_enrolment.caller, refuse_enrolment.enrolment_id, refuse_enrolment.reason,
    refuse_enrolment.claim
  );
  return json_build_object('refused', refuse_enrolment.reason);
end
$$;
comment on function agents.refuse_enrolment(jsonb, text, text, text) is
  'Records a refusal and returns its answer, {refused}: the reason, which is only for the log.';

create function public.agent_api_refuse_token(caller jsonb, refusals jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  refusal record;
begin
  for refusal in
    -- A stranger can name any enrolment, so events name only existing ones.
    select e.enrolment_id, r.reason, r.claim, r.detail
    from jsonb_to_recordset(agent_api_refuse_token.refusals)
      as r (enrolment_id text, reason text, claim text, detail text)
    left join agents.enrolments e on e.enrolment_id = r.enrolment_id
    -- The same order in every transaction prevents deadlocks: each refusal locks the row that
    -- counts it.
    order by e.enrolment_id nulls first, r.reason collate "C"
  loop
    perform agents.record_enrolment_refusal(
      agent_api_refuse_token.caller, refusal.enrolment_id, refusal.reason, refusal.claim, refusal.detail
    );
  end loop;
  return json_build_object('refused', agent_api_refuse_token.refusals -> 0 ->> 'reason');
end
$$;
comment on function public.agent_api_refuse_token(jsonb, jsonb) is
  'Records that the function refused a token, and why: refusals are [{enrolment_id, reason, '
  'claim, detail}], one for each enrolment that does not accept it. {refused} is the first reason. At most '
  '20 events a minute for each reason of an enrolment.';

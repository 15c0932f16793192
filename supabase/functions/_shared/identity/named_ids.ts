/** An agent's identifier, as requests may spell it and configurations may name it. */
export const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;

/** A tag of an agent. */
export const TAG = /^tag:[a-z0-9][a-z0-9-]{0,62}$/;

/** Ids, by the names of their fields. */
export type NamedIds = Readonly<Record<string, string>>;

/** An identifier of ours. No secret begins like one. */
const ID = /^(art|enr|grant|standing|take|whk)_[0-9a-f]{32}$/;

/** The prefixes of keys and tokens. If one is sent as an id by mistake, it must not be logged. */
const SECRET = /^(ak_|ek_|g_|sb_|eyJ)/;

/** The fields whose values may be logged: no artifact's `key`, no token. */
const FORMS: Readonly<Record<string, RegExp>> = {
  agent_id: AGENT_ID,
  from_agent: AGENT_ID,
  to_agent: AGENT_ID,
  to_tag: TAG,
  a: AGENT_ID,
  b: AGENT_ID,
  artifact_id: ID,
  grant_id: ID,
  take_id: ID,
  standing_id: ID,
  enrolment_id: ID,
  webhook_id: ID,
};

/** The ids in `values`, a request's body or its answer, that may be logged. */
export function namedIds(values: object): NamedIds {
  return Object.fromEntries(
    Object.entries(values).filter(([field, value]) =>
      typeof value === "string" && FORMS[field]?.test(value) && !SECRET.test(value)
    ),
  );
}

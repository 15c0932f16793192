/** The log of events, and what is counted before it becomes an event. */
import { NAME, OUR_ID, OUR_WORD, ownWords, type Tables } from "../table.ts";

const A_NUMBER = "a number";
const A_TIME = "a time";
const TAGS = "tags name groups of agents; the operator chose the words";

/** The fields of an event's details that can contain an agent's name, with such a value. */
export const NAMES_IN_DETAILS = {
  to_agent: "{name}",
  high_agent: "{name}",
  key: "{name}/plan.txt",
  sha256: "of {name}",
  pubkey: "of {name}",
  endpoint: "{name}.example.com:51820",
  instance: "{name}-1",
};

/** The other fields, and why they cannot. */
export const NAMELESS_DETAILS = {
  artifact_id: OUR_ID,
  enrolment_id: OUR_ID,
  standing_id: OUR_ID,
  superseded: OUR_ID,
  superseded_by: OUR_ID,
  epoch: "random",
  digest: "a hash",
  name_hash: "a keyed hash",
  fingerprint: "a hash",
  reason: OUR_WORD,
  kind: OUR_WORD,
  origin: OUR_WORD,
  proto: OUR_WORD,
  way: `${OUR_WORD}, or ${OUR_ID}`,
  ways: `${OUR_WORD}, or ${OUR_ID}`,
  tags: TAGS,
  added: TAGS,
  removed: TAGS,
  to_tag: TAGS,
  claim: "the name of a claim, which the operator chose",
  detail: "a sentence in the code",
  altered: A_NUMBER,
  first: A_NUMBER,
  last: A_NUMBER,
  reads: A_NUMBER,
  times: A_NUMBER,
  first_event_id: A_NUMBER,
  last_event_id: A_NUMBER,
  first_config_version: A_NUMBER,
  generation: A_NUMBER,
  max_downloads: A_NUMBER,
  version: A_NUMBER,
  port: A_NUMBER,
  psk_version: A_NUMBER,
  max_agents: A_NUMBER,
  quota_bytes: A_NUMBER,
  untold: A_NUMBER,
  attempts: A_NUMBER,
  keep_artifacts: "true or false",
  expires_at: A_TIME,
  kept_since: A_TIME,
  last_at: A_TIME,
  last_read_at: A_TIME,
  recorded_at: A_TIME,
};

const DETAILS = JSON.stringify(NAMES_IN_DETAILS);

const EVENT = { actor_kind: "operator", action: "artifact.committed" };

export const LOG = {
  "agents.changed_things": {
    size: "grows",
    ends: { by: "removal", isNothing: "counts" },
    lives: "counts of the last hour",
    row: { actor: "{other}", hour_began_at: "now", things: "1" },
    names: { actor: NAME },
  },
  "agents.events": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "a name that was taken over; the log decides nothing",
    row: { ...EVENT, subject_agent_id: "{other}", details: '{"at": "{hex}"}' },
    names: {
      subject_agent_id: NAME,
      other_agent_id: NAME,
      actor_agent_id: { with: { actor_kind: "agent" } },
      details: ownWords(DETAILS, "subject_agent_id"),
      request_id: ownWords("of-{name}", "subject_agent_id"),
    },
    nameless: { actor_key_id: OUR_ID, action: OUR_WORD, object_id: OUR_ID },
  },
  "agents.reads": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "counts of the last minutes",
    row: {
      object_id: "art_{hex}",
      reader: "{other}",
      actor_kind: "agent",
      told_at: "now",
      action: "artifact.opened",
      subject_agent_id: "{other}",
      details: '{"at": "{hex}"}',
      told_reads: "1",
      untold_reads: "1",
      last_read_at: "now",
    },
    names: {
      reader: NAME,
      subject_agent_id: NAME,
      other_agent_id: NAME,
      details: ownWords(DETAILS, "subject_agent_id"),
    },
    nameless: {
      object_id: OUR_ID,
      user_id: "a user's UUID",
      key_id: OUR_ID,
      actor_kind: OUR_WORD,
      action: OUR_WORD,
    },
  },
  "agents.repeated_changes": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "counts of the last minutes",
    row: {
      actor: "{other}",
      kind: "rule",
      subject_agent_id: "{other}",
      actor_kind: "agent",
      action: "rule.requested",
      details: '{"at": "{hex}"}',
      told_at: "now",
      untold: "0",
      last_at: "now",
      due_at: "now",
    },
    names: {
      actor: NAME,
      subject_agent_id: NAME,
      other_agent_id: NAME,
      details: ownWords(DETAILS, "subject_agent_id"),
    },
    nameless: {
      user_id: "a user's UUID",
      kind: OUR_WORD,
      thing: "a protocol and a port",
      actor_kind: OUR_WORD,
      key_id: OUR_ID,
      action: OUR_WORD,
    },
  },
} satisfies Tables;

/** Agents, their keys and tags, whose a name is, and the deployment. */
import { NAME, OUR_ID, OUR_WORD, ownWords, type Tables } from "../table.ts";

const NAME_STAYS = "who was removed stays out, and whose a name is stays known";

export const AGENTS = {
  "agents.activity": {
    size: { bounded: "one row per function and error code" },
    ends: { by: "nothing", why: "counters" },
    nameless: { code: OUR_WORD },
  },
  "agents.agent_tags": {
    size: "grows",
    ends: { by: "removal" },
    row: { agent_id: "{other}", tag: "tag:web" },
    names: { agent_id: NAME },
    nameless: {
      tag: "names a group of agents; the operator chose the word",
      enrolment_id: OUR_ID,
    },
  },
  "agents.epochs": {
    size: { bounded: "one row" },
    ends: { by: "nothing", why: "one row" },
    lives: "one row for ever",
  },
  "agents.erased_names": {
    size: "grows",
    ends: { by: "change", function: "public.agent_api_readmit_agent", why: NAME_STAYS },
    lives: "an erased agent",
  },
  "agents.key_uses": {
    size: "grows",
    ends: { by: "parent", table: "agents.keys" },
    lives: "for people; the row of the key goes with its own end",
  },
  "agents.keys": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "a revoked agent key; those from enrolments have ended a day before",
    // The sweep keeps the keys that the operator made: a key never works again.
    row: {
      key_id: "key_{hex}",
      agent_id: "{other}",
      key_hash: "{hash}",
      generation: "1",
      enrolment_id: "enr_{hex}",
      expires_at: "now",
    },
    names: {
      agent_id: NAME,
      label: { value: "asks {name}, {name}." },
      instance: ownWords("{name}-1"),
    },
    nameless: { enrolment_id: OUR_ID },
  },
  "agents.name_secret": {
    size: { bounded: "one row" },
    ends: { by: "nothing", why: "one row" },
  },
  "agents.names": {
    size: "grows",
    ends: { by: "nothing", why: `${NAME_STAYS}; the sweep forgets names of enrolments` },
    lives: "a name of the operator; a name of one cluster",
    row: { agent_id: "{other}", ways: "{operator}" },
    names: { agent_id: NAME },
  },
  "agents.refusals": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "counts for people",
    row: {
      agent_id: "{other}",
      hour: "2026-01-01T00:00:00Z",
      kind: "forbidden",
      count: "1",
    },
    names: { agent_id: NAME },
  },
  "agents.removed_agents": {
    size: "grows",
    ends: { by: "change", function: "public.agent_api_readmit_agent", why: NAME_STAYS },
    lives: "a removed agent",
    row: { agent_id: "{other}" },
    names: { agent_id: NAME },
  },
  "agents.replayed_endings": {
    size: { bounded: "only a restore adds rows" },
    ends: { by: "nothing", why: "the same record would later end what was made since then" },
    nameless: { event_id: "a position in the log", recorded_at: "a time, as the record has it" },
  },
  "agents.structure": {
    size: { bounded: "one row per index, constraint and trigger" },
    ends: { by: "change", function: "agents.record_structure", why: "the next migration" },
    nameless: {
      part: "parts of the schema",
      relation: "a table",
      statement: "parts of the schema",
    },
  },
  "agents.structure_before": {
    size: { bounded: "rows while a migration runs" },
    ends: { by: "change", function: "agents.record_structure", why: "the end of the migration" },
    nameless: {
      part: "parts of the schema",
      object: "a word of the code and numbers",
      statement: "parts of the schema",
    },
  },
  "agents.usage": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "counts for people",
    row: {
      agent_id: "{other}",
      day: "today",
      requests: "1",
      refusals: "0",
      artifacts: "0",
      bytes: "0",
      grants: "0",
    },
    names: { agent_id: NAME },
  },
} satisfies Tables;

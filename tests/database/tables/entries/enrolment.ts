/** Enrolments, and the agents that came by them. */
import { NAME, OUR_ID, OUR_WORD, type Tables } from "../table.ts";

/** A trust that has ended: an erasure alters what decided who enrols. */
const ENDED_TRUST = {
  kind: "trust",
  key_hash: "",
  issuer: "https://example.com",
  audience: "us",
  conditions: '[{"claim": "sub", "equals": "a"}]',
  agent_template: "of-{hex}",
  revoked_at: "now",
};

export const ENROLMENT = {
  "agents.enrolled_agents": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "an agent that left; a revoked enrolment",
    row: {
      agent_id: "{other}",
      enrolment_id: "enr_{hex}",
      generation: "1",
      enrolled_at: "now",
      ended_at: "now",
    },
    // The sweep forgets who ended only if the name belongs to the enrolment.
    needs: { "agents.names": { agent_id: "{agent_id}", ways: "{enr_{hex}}" } },
    names: { agent_id: NAME },
  },
  "agents.enrolment_refusals": {
    size: { bounded: "one row per enrolment and reason, for a day" },
    ends: { by: "sweep" },
    lives: "counts of the last minute",
    row: { enrolment_id: "enr_{hex}", reason: "expired", minute: "now", count: "1" },
    nameless: { enrolment_id: OUR_ID, reason: OUR_WORD },
  },
  "agents.enrolments": {
    size: { bounded: "the operator creates these one by one" },
    ends: { by: "nothing", why: "a revoked one says how its agents came in" },
    lives: "a revoked enrolment; nothing deletes one but an erasure",
    row: {
      enrolment_id: "enr_{hex}",
      kind: "key",
      key_hash: "{hash}",
      session_seconds: "3600",
    },
    names: {
      agent_id: NAME,
      label: { value: "asks {name}, {name}." },
      issuer: { value: "https://example.com/{name}", with: ENDED_TRUST },
      audience: { value: "https://example.com/{name}", with: ENDED_TRUST },
      agent_template: { value: "of-{name}-{run_id}", with: ENDED_TRUST },
      agent_prefix: { value: "{name}-", with: { revoked_at: "now" } },
      conditions: {
        value: '[{"claim": "sub", "equals": "{name}"}, {"claim": "job", "prefix": "of/{name}/"}]',
        with: ENDED_TRUST,
      },
      jwks: { value: '{"keys": [{"kid": "of-{name}"}]}', with: ENDED_TRUST },
    },
    nameless: { kind: OUR_WORD, tags: "tags name groups of agents" },
  },
  "agents.former_holders": {
    size: { bounded: "each row is a decision of the operator" },
    ends: {
      by: "change",
      function: "agents.forget_holder",
      why: "a later revocation ends what the former holder gave",
    },
    row: { agent_id: "{other}", enrolment_id: "enr_{hex}" },
    names: { agent_id: NAME },
  },
  "agents.used_tokens": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "a token is refused by its own end before its row is deleted",
    row: {
      enrolment_id: "enr_{hex}",
      token_id: "{hash}",
      key_id: "key_{hex}",
      expires_at: "now",
    },
    nameless: { enrolment_id: OUR_ID, key_id: OUR_ID },
  },
} satisfies Tables;

/** Artifacts, grants, and what the sweep remembers. */
import { NAME, OUR_ID, OUR_WORD, ownWords, type Tables } from "../table.ts";

const COUNTERS_STAY = "one row of counters; an erasure and the next holder of the name delete it";

export const ARTIFACTS = {
  "artifacts.agent_limits": {
    size: "grows",
    ends: { by: "removal", isNothing: "the operator limits whoever may come" },
    row: { agent_id: "{other}", quota_bytes: "1" },
    names: { agent_id: NAME },
  },
  "artifacts.artifacts": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "an agent that left: its file ends by itself, and names nobody afterwards",
    row: {
      artifact_id: "art_{hex}",
      agent_id: "{other}",
      key: "plan",
      mime: "text/plain",
      size_bytes: "1",
      ttl_days: "1",
    },
    names: {
      agent_id: NAME,
      key: ownWords("{name}/plan.txt"),
      mime: ownWords("text/{name}"),
      metadata: ownWords('{"of": "{name}"}'),
    },
  },
  "artifacts.blocked_senders": {
    size: "grows",
    ends: { by: "removal", of: ["agent_id"], isNothing: "a wish about others" },
    lives: "a blocked sender",
    row: { agent_id: "{other}", from_agent: "{later}" },
    names: { agent_id: NAME, from_agent: NAME },
  },
  "artifacts.grant_downloads": {
    size: "grows",
    ends: { by: "parent", table: "artifacts.grants" },
  },
  "artifacts.grants": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "a grant that is used up, one that is revoked",
    row: {
      grant_id: "grant_{hex}",
      artifact_id: "art_{hex}",
      from_agent: "{other}",
      token_hash: "{hash}",
      expires_at: "tomorrow",
    },
    names: {
      from_agent: NAME,
      to_agent: NAME,
    },
    nameless: { to_tag: "names a group of agents; the operator chose the word" },
  },
  "artifacts.hand_overs": {
    size: "grows",
    ends: { by: "parent", table: "artifacts.grants" },
    lives: "it lives as long as its grant",
    row: { grant_id: "grant_{hex}", from_agent: "{other}" },
    names: {
      from_agent: NAME,
      note: ownWords("for {name}", "from_agent"),
      idempotency_key: ownWords("{name}-1", "from_agent"),
    },
  },
  "artifacts.inbox_views": {
    size: "grows",
    ends: { by: "removal", of: ["agent_id"], isNothing: "what its inbox has shown" },
    lives: "longer than any grant: 400 days",
    row: { agent_id: "{other}", seen: "7:7:" },
    names: { agent_id: NAME },
    nameless: {
      to_tag: "names a group of agents; the operator chose the word",
      seen: "transactions",
    },
  },
  "artifacts.orphans": {
    size: "grows",
    ends: {
      by: "change",
      function: "public.agent_api_collect_dead_objects",
      why: "the sweep's next round",
    },
    nameless: { object_name: "a place in the bucket" },
  },
  "artifacts.enrolment_totals": {
    size: { bounded: "two rows per enrolment" },
    ends: {
      by: "change",
      function: "agents.erase_few",
      why: "it counts while its enrolment exists",
    },
    nameless: { enrolment_id: "an identifier of ours" },
  },
  "artifacts.project_totals": {
    size: { bounded: "one row per shard" },
    ends: { by: "nothing", why: "counters" },
  },
  "artifacts.spent_versions": {
    size: "grows",
    ends: {
      by: "change",
      function: "agents.forget_holder",
      why: "no version is given out again while the name has the same holder",
    },
    row: { agent_id: "{other}", key_hash: "\\x", version: "1" },
    names: { agent_id: NAME },
  },
  "artifacts.standing_grants": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "a standing grant that ended, whose grants are live: ../standing/limits_test.ts",
    row: {
      standing_id: "standing_{hex}",
      from_agent: "{other}",
      covered_name: "plan",
      is_prefix: "false",
      to_agent: "{later}",
      expires_at: "tomorrow",
    },
    names: {
      from_agent: NAME,
      to_agent: NAME,
      covered_name: ownWords("{name}/", "from_agent"),
      note: ownWords("for {name}", "from_agent"),
    },
    nameless: { to_tag: "names a group of agents; the operator chose the word" },
  },
  "artifacts.sweeps": {
    size: { bounded: "one row" },
    ends: { by: "nothing", why: "one row" },
    lives: "one row for ever",
    nameless: { schedule: "a time for cron" },
  },
  "artifacts.task_queues": {
    size: "grows",
    ends: { by: "removal", of: ["agent_id"], isNothing: "how far it has looked at its grants" },
    row: { agent_id: "{other}", to_tag: "tag:crew" },
    names: { agent_id: NAME },
    nameless: { to_tag: "names a group of agents; the operator chose the word" },
  },
  "artifacts.tasks": {
    size: "grows",
    ends: { by: "parent", table: "artifacts.grants" },
    lives: "it lives as long as its grant",
    row: {
      grant_id: "grant_{hex}",
      agent_id: "{other}",
      to_tag: "tag:crew",
      ready_at: "tomorrow",
    },
    names: {
      agent_id: NAME,
      taken_by: NAME,
      reason: ownWords("{name} cannot", "taken_by"),
    },
    nameless: { to_tag: "names a group of agents; the operator chose the word" },
  },
  "artifacts.totals": {
    size: "grows",
    ends: { by: "change", function: "agents.forget_holder", why: COUNTERS_STAY },
    row: { agent_id: "{other}" },
    names: { agent_id: NAME },
    nameless: { enrolment_id: "an identifier of ours" },
  },
  "artifacts.verifications": {
    size: "grows",
    ends: { by: "parent", table: "artifacts.artifacts" },
    lives: "a lease lasts minutes",
    nameless: { hash_state: "the state of a SHA-256", object_version: "Storage's own id" },
  },
  "artifacts.walks": {
    size: { bounded: "one row per walk" },
    ends: { by: "nothing", why: "a walk begins again" },
    nameless: { walk: OUR_WORD, position: `a time, and ${OUR_ID}` },
  },
} satisfies Tables;

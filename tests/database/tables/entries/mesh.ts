/** Peers, rules, and the policy. */
import { NAME, ownWords, type Tables } from "../table.ts";

const POLICY_STAYS = "only the operator can change the policy's file; the erasure is refused";

const PUBKEY = "{random}AAAAAAAAAAA=";
const PAIR = { low_agent: "{other}", high_agent: "{name}" };
/** As every change of the mesh leaves it: `agents.next_name` finds the agent by this row. */
const VERSION = { "mesh.config_versions": { agent_id: "{name}" } };

export const MESH = {
  "mesh.address_leases": {
    size: "grows",
    ends: {
      by: "change",
      function: "mesh.keep_networks_that_are_in_use",
      why: "another agent gets the addresses that rested longest",
    },
    lives: "a name of one cluster: its addresses",
    row: { agent_id: "{other}", ipv4: "10.{octets}", ipv6: "fd00::9.{octets}", released_at: "now" },
    names: { agent_id: NAME },
    nameless: { resting_pubkey: "a public key" },
  },
  "mesh.censuses": {
    size: { bounded: "two rows" },
    ends: { by: "nothing", why: "two rows" },
    lives: "progress of a check",
    row: { census: "under way" },
    names: { after_agent: NAME },
  },
  "mesh.config_versions": {
    size: "grows",
    ends: { by: "nothing", why: "a version never goes back, whoever has the name next" },
    lives: "nothing deletes one but an erasure; its time is that of a count of one hour",
    row: { agent_id: "{other}", version: "1" },
    names: { agent_id: NAME },
  },
  "mesh.counters": {
    size: { bounded: "one row per counter and shard" },
    ends: { by: "nothing", why: "counters" },
    nameless: { counter: "a word in the code, or with the id of an encryption key" },
  },
  "mesh.declined_requests": {
    size: "grows",
    ends: {
      by: "change",
      function: "mesh.decline_request",
      why: "the next one deletes ten old ones",
    },
    lives: "a request is declined for a day, as docs/mesh.md says",
    row: {
      from_agent: "{other}",
      to_agent: "{later}",
      proto: "tcp",
      port: "1",
      declined_by: "{later}",
    },
    names: {
      from_agent: NAME,
      to_agent: { with: { declined_by: "{other}" } },
      declined_by: { with: { from_agent: "{name}" } },
    },
    nameless: { proto: "tcp or udp" },
  },
  "mesh.liveness": {
    size: "grows",
    ends: { by: "parent", table: "mesh.peers" },
    lives: "goes with its peer",
    row: { agent_id: "{other}" },
    names: { agent_id: NAME },
  },
  "mesh.pairs": {
    size: "grows",
    ends: { by: "removal" },
    lives: "goes with its peers",
    row: PAIR,
    names: {
      low_agent: { with: { high_agent: "{later}" } },
      high_agent: { with: { low_agent: "{other}" } },
    },
  },
  "mesh.path_reports": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "for people, for two days",
    row: {
      agent_id: "{other}",
      other_agent: "{name}",
      via: "direct",
      handshake_at: "now",
      since: "now",
      confirmed_at: "now",
    },
    needs: { "mesh.pairs": PAIR },
    names: {
      agent_id: { with: { other_agent: "{other}" } },
      other_agent: NAME,
      endpoint: ownWords("{name}.example.com:51820", "other_agent"),
    },
  },
  "mesh.peers": {
    size: "grows",
    ends: { by: "removal" },
    lives: "nothing deletes one but its agent, the operator, or the end of its agent",
    row: { agent_id: "{other}", pubkey: PUBKEY },
    needs: { ...VERSION, "mesh.address_leases": { agent_id: "{agent_id}", released_at: "" } },
    names: {
      agent_id: NAME,
      endpoint: ownWords("{name}.example.com:51820"),
      further_endpoints: {
        value: "{b-{name}.example.com:51820}",
        with: { agent_id: "{name}", endpoint: "a.example.com:51820" },
      },
    },
  },
  "mesh.policies": {
    size: { bounded: "one row" },
    ends: { by: "change", function: "public.agent_api_apply_policy", why: "the next policy" },
    lives: "nothing deletes one",
    row: { source: "{}", fingerprint: "of {hex}" },
    names: { source: { value: "// of {name}\n{}", stays: POLICY_STAYS } },
    nameless: { fingerprint: "a hash" },
  },
  "mesh.policy_lines": {
    size: { bounded: "the operator's policy has at most 10,000 lines" },
    ends: { by: "change", function: "public.agent_api_apply_policy", why: "the next policy" },
    row: { from_name: "tag:web", to_name: "tag:web", proto: "tcp", port: "1" },
    names: { from_name: { stays: POLICY_STAYS }, to_name: { stays: POLICY_STAYS } },
  },
  "mesh.rules": {
    size: "grows",
    ends: { by: "removal" },
    lives: "a name of a revoked enrolment: its requests",
    row: {
      from_agent: "{other}",
      to_agent: "{later}",
      proto: "tcp",
      port: "1",
      from_agreed_at: "now",
    },
    needs: VERSION,
    names: { from_agent: NAME, to_agent: NAME },
  },
  "mesh.settings": {
    size: { bounded: "one row" },
    ends: { by: "nothing", why: "one row" },
  },
} satisfies Tables;

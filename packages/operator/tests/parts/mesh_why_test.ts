import assert from "node:assert/strict";
import { type MeshAnswer, type MeshPair, type PairSide, whyNot } from "../../mesh/mesh_pair.ts";

const NOW = "2026-01-31T09:30:00.000Z";
const RULE = { active: true, waiting_for: null, origin: "agents" };

function side(agent_id: string, facts: Partial<PairSide> = {}): PairSide {
  return {
    agent_id,
    online: true,
    lags: false,
    endpoints: [],
    report: null,
    last_seen: NOW,
    ...facts,
  };
}

/** What is told of two peers in order, but for these facts. */
function told(facts: Partial<MeshPair>): MeshAnswer {
  const pair = { from: side("alpha"), to: side("beta"), rule: RULE, other_ports: [], ...facts };
  return whyNot({ from: "alpha", to: "beta", target: "8080/tcp" }, pair, false);
}

const broken = {
  works: false,
  via: "none",
  since: NOW,
  handshake_age_seconds: null,
  endpoint: null,
  reported_at: NOW,
} as const;

const TAKEN = { code: "network_taken", network: "172.17.0.0/16" } as const;

const CASES: readonly (readonly [Partial<MeshPair>, MeshAnswer["cause"], string, RegExp])[] = [
  [
    { from: null },
    "no_peer",
    "alpha has no peer in the mesh.",
    /^On alpha: sudo agentfiles mesh up/,
  ],
  [{ to: null, from: null }, "no_peer", "beta has no peer in the mesh.", /^On beta: /],
  [
    { rule: null, other_ports: ["443/tcp", "53/udp"] },
    "no_rule",
    "No rule lets alpha reach 8080/tcp of beta. It may reach 443/tcp, 53/udp.",
    /^On alpha and on beta: agentfiles mesh allow alpha beta 8080$/,
  ],
  [
    { rule: { ...RULE, active: false, waiting_for: "alpha" } },
    "rule_waits",
    "The rule is not active: alpha has not agreed to it.",
    /^On alpha: agentfiles mesh allow alpha beta 8080$/,
  ],
  [
    { to: side("beta", { online: false, last_seen: null, lags: null }) },
    "never_seen",
    "beta has a peer, but its host was never seen.",
    /^On beta: start agentfiles mesh up/,
  ],
  [
    { from: side("alpha", { online: false, lags: true }) },
    "offline",
    "alpha is offline: its host was last seen 2026-01-31 09:30 UTC.",
    /^On alpha: start/,
  ],
  [
    { to: side("beta", { lags: true, problem: TAKEN }) },
    "network_taken",
    "The host of beta has no tunnel, because its own network 172.17.0.0/16 has addresses of the mesh.",
    /^On beta: .*agentops mesh network$/,
  ],
  [
    { to: side("beta", { lags: true }) },
    "old_configuration",
    "beta runs an old configuration.",
    /^On beta: see the log/,
  ],
  [
    { from: side("alpha", { report: broken }) },
    "no_path",
    "The path does not work since 2026-01-31 09:30 UTC: both are behind NAT, and no relay is set.",
    /^On alpha: agentfiles mesh probe beta 8080 .*docs\/relay\.md/,
  ],
  [
    {
      from: side("alpha", { report: broken }),
      to: side("beta", { report: { ...broken, works: true, via: "direct" } }),
    },
    "path_disputed",
    "The path is not clear: beta reports that it works, alpha that it does not.",
    /^On alpha: agentfiles mesh probe/,
  ],
  [
    {},
    "unknown",
    "The rule is active, and both hosts are online. Neither reports its paths.",
    /^On alpha: agentfiles mesh probe beta 8080$/,
  ],
  [
    { to: side("beta", { report: { ...broken, works: true, via: "relay" } }) },
    "nothing",
    "Nothing in the mesh prevents it: the path works through a relay since 2026-01-31 09:30 UTC; alpha does not report it.",
    /own firewall\)$/,
  ],
];

for (const [facts, cause, sentence, next] of CASES) {
  Deno.test(`whyNot() of ${Object.keys(facts).join(", ") || "nothing wrong"} → ${cause}`, () => {
    const answer = told(facts);
    assert.deepEqual([answer.cause, answer.sentence], [cause, sentence]);
    assert.match(answer.next, next);
  });
}

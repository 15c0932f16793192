import assert from "node:assert/strict";
import { graphOf } from "../../picture/graph.ts";
import type { KnownPaths } from "../../picture/path_counts.ts";
import { renderMermaid } from "../../picture/mermaid.ts";
import type { PeerRow, RuleRow } from "../../reads/rows.ts";

function peer(agent_id: string, state: { online?: boolean; lags?: boolean | null } = {}): PeerRow {
  return {
    agent_id,
    pubkey: "",
    endpoint: null,
    addresses: ["10.213.0.1", "fd00::1"],
    registered_at: "2026-01-31T09:30:00.000Z",
    last_seen: null,
    online: true,
    config_version: 3,
    config_version_applied: 3,
    lags: false,
    active_rules: 0,
    requests: 0,
    ...state,
  };
}

function rule(from_agent: string, to_agent: string, port = 443, active = true): RuleRow {
  const waiting_for = active ? null : to_agent;
  return { from_agent, to_agent, port, proto: "tcp", active, waiting_for, origin: "agents" };
}

Deno.test("a picture of two peers, an agent without one, and a request → the active rules with their ports, in each one's state", () => {
  const graph = graphOf(
    [peer("planner"), peer("builder", { lags: true })],
    [
      rule("planner", "builder"),
      rule("planner", "builder", 22),
      rule("builder", "archive"),
      rule("builder", "planner", 80, false),
    ],
  );
  assert.equal(
    renderMermaid(graph),
    `flowchart LR
  n1["archive<br/>no peer"]
  n2["builder<br/>old configuration"]
  n3["planner"]
  n3 -->|"tcp 443, tcp 22"| n2
  n2 -->|"tcp 443"| n1
  classDef without-peer fill:#ffe3e3,stroke:#c92a2a,color:#212529
  classDef lags fill:#fff3bf,stroke:#e67700,color:#212529
  classDef online fill:#d3f9d8,stroke:#2b8a3e,color:#212529
  class n1 without-peer
  class n2 lags
  class n3 online`,
  );
});

Deno.test("a picture with paths → what is known of each, and dotted arrows where one does not work", () => {
  const paths: KnownPaths = new Map(
    ([
      ["builder planner", "works", "direct"],
      ["archive builder", "works", "relay"],
      ["archive planner", "broken", null],
      ["planner worker-1", "unknown", null],
      ["planner worker-2", "unknown", null],
      ["planner worker-3", "works", "direct"],
      ["clock planner", "disputed", null],
      ["builder clock", "offline", null],
    ] as const).map(([pair, state, via]) => [pair, { state, via, since: null, sentence: "" }]),
  );
  const names = ["planner", "builder", "archive", "worker-1", "worker-2", "worker-3", "clock"];
  const graph = graphOf(names.map((name) => peer(name)), [
    rule("planner", "builder"),
    rule("builder", "archive"),
    rule("planner", "archive"),
    rule("planner", "clock", 123),
    rule("builder", "clock", 123),
    rule("planner", "worker-1", 80),
    rule("planner", "worker-2", 80),
    rule("planner", "worker-3", 80),
    rule("planner", "worker-3", 81, false),
  ], paths);
  const lines = renderMermaid(graph).split("\n").filter((line) => line.includes("|"));
  const nodes = new Map(
    graph.nodes.map(({ agentIds }, index) => [`n${index + 1}`, agentIds.join(" ")]),
  );
  const told = lines.map((line) => {
    const [, from, arrow, text, to] = /^ {2}(n\d+) (\S+)\|"(.*)"\| (n\d+)$/.exec(line)!;
    return [nodes.get(from!), arrow, text, nodes.get(to!)];
  });
  assert.deepEqual(told, [
    ["planner", "-->", "tcp 443<br/>directly", "builder"],
    ["builder", "-->", "tcp 443<br/>by relay", "archive"],
    ["planner", "-.->", "tcp 443<br/>does not work", "archive"],
    ["planner", "-.->", "tcp 123<br/>path not clear", "clock"],
    ["builder", "-.->", "tcp 123<br/>does not work", "clock"],
    ["planner", "-->", "tcp 80<br/>1 of 3 work", "worker-1 worker-2 worker-3"],
  ]);
});

Deno.test("a picture of 200 peers that all reach one → two nodes, and a third for the one that is offline", () => {
  const workers = Array.from({ length: 199 }, (_, index) => `worker-${index}`);
  const graph = graphOf(
    [peer("queue"), ...workers.map((name, index) => peer(name, { online: index !== 7 }))],
    workers.map((name) => rule(name, "queue", 5672)),
  );
  assert.equal(graph.isCoarse, false);
  assert.deepEqual(graph.nodes.map(({ agentIds, state }) => [agentIds.length, state]), [
    [1, "online"],
    [198, "online"],
    [1, "offline"],
  ]);
  assert.equal(graph.edges.length, 2);
  assert.match(
    renderMermaid(graph),
    /n2\["198 agents<br\/>worker-0<br\/>worker-1<br\/>worker-10<br\/>worker-100<br\/>and 194 more"\]/,
  );
});

Deno.test("a picture of 200 peers in a ring, each with the next five → one node for names that begin alike, and it says so", () => {
  const names = Array.from({ length: 200 }, (_, index) => `peer-${index}`);
  const rules = names.flatMap((name, index) =>
    [1, 2, 3, 4, 5].map((step) => rule(name, names[(index + step) % names.length]!))
  );
  const graph = graphOf(names.map((name) => peer(name)), rules);
  assert.equal(graph.isCoarse, true);
  assert.deepEqual(graph.nodes.map(({ agentIds }) => agentIds.length), [200]);
  assert.deepEqual(graph.edges.map(({ ports }) => ports), [["tcp 443"]]);
});

Deno.test("a picture of an empty mesh → an empty one", () => {
  assert.equal(renderMermaid(graphOf([], [])), "flowchart LR");
});

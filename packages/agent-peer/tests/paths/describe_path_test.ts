import assert from "node:assert/strict";
import { describePath, type PathReport, type PathSide } from "../../paths/describe_path.ts";

const WORKS: PathReport = {
  works: true,
  via: "direct",
  since: "2026-01-31T09:30:12.000Z",
  handshake_age_seconds: 42,
  endpoint: "203.0.113.7:4242",
  reported_at: "2026-01-31T10:00:00.000Z",
};
const BROKEN: PathReport = {
  ...WORKS,
  works: false,
  via: "none",
  since: "2026-01-31T09:45:00.000Z",
  handshake_age_seconds: null,
  endpoint: null,
};
const RELAYED: PathReport = { ...WORKS, via: "relay", since: "2026-01-31T09:40:00.000Z" };

function side(agent_id: string, known: Partial<PathSide> = {}): PathSide {
  return { agent_id, online: true, lags: false, endpoints: [], report: null, ...known };
}

interface Case {
  readonly what: string;
  readonly planner?: Partial<PathSide>;
  readonly builder?: Partial<PathSide>;
  readonly relayIsSet?: boolean | null;
  readonly expected: readonly [state: string, via: string | null, sentence: string];
}

const TAKEN = { code: "network_taken", network: "172.17.0.0/16" } as const;
const IPV4 = { endpoints: ["203.0.113.7:51820"] };
const IPV6 = { endpoints: ["[2001:db8::7]:51820"] };
const NAME = { endpoints: ["builder.example:51820"] };
const broken = (known: Partial<PathSide> = {}) => ({ report: BROKEN, ...known });

const CASES: readonly Case[] = [
  {
    what: "both report that it works",
    planner: { report: WORKS },
    builder: { report: { ...WORKS, since: "2026-01-31T09:31:00.000Z" } },
    expected: ["works", "direct", "works directly since 2026-01-31 09:31 UTC"],
  },
  {
    what: "one reports that it works, and the other's host has no tunnel",
    planner: { report: WORKS },
    builder: { problem: TAKEN },
    expected: [
      "broken",
      null,
      "does not work: the host of builder has no tunnel, because its own network 172.17.0.0/16 has addresses of the mesh",
    ],
  },
  {
    what:
      "neither reports anything, and a host has no tunnel because of a network that is not told",
    planner: { problem: { ...TAKEN, network: null } },
    expected: [
      "broken",
      null,
      "does not work: the host of planner has no tunnel, because its own network has addresses of the mesh",
    ],
  },
  {
    what: "one is behind the relay",
    planner: { report: WORKS },
    builder: { report: RELAYED },
    expected: ["works", "relay", "works through a relay since 2026-01-31 09:40 UTC"],
  },
  {
    what: "one reports nothing, and is online",
    planner: { report: WORKS },
    expected: [
      "works",
      "direct",
      "works directly since 2026-01-31 09:30 UTC; builder does not report it",
    ],
  },
  {
    what: "one is not heard of by the service alone",
    planner: { online: false },
    builder: { report: RELAYED },
    expected: [
      "works",
      "relay",
      "works through a relay since 2026-01-31 09:40 UTC; planner sends no heartbeats",
    ],
  },
  {
    what: "one reports a path, the other none",
    planner: { report: BROKEN },
    builder: { report: WORKS },
    expected: [
      "disputed",
      null,
      "not clear: builder reports that it works, planner that it does not",
    ],
  },
  {
    what: "the same, the other way round",
    planner: { report: WORKS },
    builder: { report: BROKEN },
    expected: [
      "disputed",
      null,
      "not clear: planner reports that it works, builder that it does not",
    ],
  },
  {
    what: "both are online and report nothing",
    planner: IPV4,
    builder: IPV4,
    expected: ["unknown", null, "not known: neither host reports its paths"],
  },
  {
    what: "one is offline",
    planner: broken(),
    builder: { online: false, problem: TAKEN },
    expected: ["offline", null, "does not work since 2026-01-31 09:45 UTC: builder is offline"],
  },
  {
    what: "one is offline, and nobody reports anything",
    builder: { online: false },
    expected: ["offline", null, "does not work: builder is offline"],
  },
  {
    what: "both are offline",
    planner: { online: false },
    builder: { online: false },
    expected: ["offline", null, "does not work: both are offline"],
  },
  {
    what: "one runs an old configuration",
    planner: broken(IPV4),
    builder: broken({ lags: true }),
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: builder runs an old configuration",
    ],
  },
  {
    what: "both run old configurations",
    planner: broken({ lags: true }),
    builder: broken({ lags: true }),
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: both run old configurations",
    ],
  },
  {
    what: "both are behind NAT, without a relay",
    planner: broken(),
    builder: broken(),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: both are behind NAT, and no relay is set",
    ],
  },
  {
    what: "both are behind NAT, with a relay",
    planner: broken(),
    builder: broken({ lags: null }),
    relayIsSet: true,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: both are behind NAT, and the relay does not connect them",
    ],
  },
  {
    what: "both are behind NAT, and nobody knows of a relay",
    planner: broken(),
    relayIsSet: null,
    expected: ["broken", null, "does not work since 2026-01-31 09:45 UTC: both are behind NAT"],
  },
  {
    what: "both have private addresses alone, without a relay",
    planner: broken({ endpoints: ["192.168.1.7:51820", "[fd12::7]:51820"] }),
    builder: broken({ endpoints: ["10.0.0.7:51820"] }),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: both are behind NAT, and no relay is set",
    ],
  },
  {
    what: "one has a private address alone, and one another, too",
    planner: broken({ endpoints: ["192.168.1.7:51820"] }),
    builder: broken({ endpoints: ["203.0.113.7:51820", "10.0.0.7:51820"] }),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: no answer by UDP from builder at 203.0.113.7:51820",
    ],
  },
  {
    what: "both are seen by STUN at other ports than their own, without a relay",
    planner: broken({ endpoints: ["203.0.113.7:31001", "192.168.1.7:51820"] }),
    builder: broken({ endpoints: ["198.51.100.7:42001", "10.0.0.7:40001", "[fd12::7]:40001"] }),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: both are behind NAT, and no relay is set",
    ],
  },
  {
    what: "both have relayed addresses, and one a name, too",
    planner: broken({ endpoints: ["198.51.100.1:50001", "192.168.1.7:51820"] }),
    builder: broken({ endpoints: ["198.51.100.1:50002", "builder.example:1", "10.0.0.7:40001"] }),
    relayIsSet: true,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: no answer by UDP from builder at builder.example:1",
    ],
  },
  {
    what: "one is seen by STUN, the other has a public address at which two ports are known",
    planner: broken({ endpoints: ["198.51.100.7:42001", "10.0.0.7:40001"] }),
    builder: broken({ endpoints: ["203.0.113.7:51820", "203.0.113.7:4000", "10.0.0.7:4000"] }),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: no answer by UDP from builder at 203.0.113.7:51820, 203.0.113.7:4000",
    ],
  },
  {
    what: "one has endpoints",
    planner: broken(),
    builder: broken({ endpoints: ["203.0.113.7:51820", "[2001:db8::7]:51820"] }),
    relayIsSet: false,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: no answer by UDP from builder at 203.0.113.7:51820, [2001:db8::7]:51820",
    ],
  },
  {
    what: "IPv6 alone against IPv4 alone",
    planner: broken(IPV6),
    builder: IPV4,
    expected: [
      "broken",
      null,
      "does not work since 2026-01-31 09:45 UTC: no common IP version: planner has only IPv6 endpoints, builder only IPv4 ones",
    ],
  },
  {
    what: "both have IPv4",
    planner: broken(IPV4),
    builder: broken(IPV4),
    expected: ["broken", null, "does not work since 2026-01-31 09:45 UTC: no answer by UDP"],
  },
  {
    what: "one has both families",
    planner: broken({ endpoints: [...IPV4.endpoints, ...IPV6.endpoints] }),
    builder: broken(IPV6),
    expected: ["broken", null, "does not work since 2026-01-31 09:45 UTC: no answer by UDP"],
  },
  {
    what: "one has a name, whose address is not known",
    planner: broken(IPV6),
    builder: broken(NAME),
    expected: ["broken", null, "does not work since 2026-01-31 09:45 UTC: no answer by UDP"],
  },
];

for (const { what, planner, builder, relayIsSet = null, expected } of CASES) {
  Deno.test(`a path, and ${what} → ${expected[2]}`, () => {
    const { state, via, sentence } = describePath(
      [side("planner", planner), side("builder", builder)],
      relayIsSet,
    );
    assert.deepEqual([state, via, sentence], expected);
  });
}

Deno.test("a path that works or is broken → since when, as the side says that saw it last", () => {
  const earlier = { ...WORKS, since: "2026-01-30T00:00:00.000Z" };
  const description = describePath(
    [side("planner", { report: WORKS }), side("builder", { report: earlier })],
    null,
  );
  assert.equal(description.since, WORKS.since);
  assert.equal(describePath([side("planner"), side("builder")], null).since, null);
});

import assert from "node:assert/strict";
import { diagnose } from "../../mesh/probe/diagnose.ts";
import type { ProbeFacts, TunnelFacts } from "../../mesh/probe/facts.ts";

const TUNNEL: TunnelFacts = {
  interfaceName: "mesh0",
  hasRegisteredKey: true,
  hasPeer: true,
  hasSamePsk: true,
  handshakeAgeSeconds: 3,
  received: "packets",
  smallPing: true,
  largePing: true,
  connect: "open",
};

const WORKS: ProbeFacts = {
  own: "planner",
  peer: "builder",
  port: 8080,
  proto: "tcp",
  clockSeconds: 0,
  isRegistered: true,
  rule: "active",
  otherPorts: [],
  isOnline: true,
  pathReason: "no answer by UDP from builder at 192.0.2.1:51820",
  tunnel: TUNNEL,
  proxy: null,
  problems: { own: null, peer: null },
  reports: { own: true, peer: true },
};

const SILENT = { smallPing: false, largePing: null, connect: "timeout", received: "nothing" };
const TAKEN = { code: "network_taken", network: "172.17.0.0/16" };
const NAT = "both are behind NAT, and no relay is set";
const [NONE, OTHERS] = [{ rule: null }, { rule: null, otherPorts: ["443/tcp"] }];
const through = (proxy: string, known: object = {}) => ({ tunnel: null, proxy, ...known });
const UNSEEN = { tunnel: null, reports: { own: null, peer: null } };

/** Facts, facts of the tunnel, cause, turn, and a part of the sentence. */
const CASES: readonly (readonly [object, object, string, string, RegExp])[] = [
  [{}, {}, "none", "nobody", /^builder is reached at 8080\/tcp\.$/],
  [{ clockSeconds: 299 }, {}, "none", "nobody", /is reached/],
  [{ clockSeconds: 172_800 }, {}, "clock", "own", /clock is 2 days ahead of the service's/],
  [{ clockSeconds: -172_800 }, {}, "clock", "own", /clock is 2 days behind/],
  [{ clockSeconds: -7200 }, {}, "clock", "own", /2 hours behind/],
  [{ clockSeconds: 301 }, {}, "clock", "own", /5 minutes ahead/],
  [{ clockSeconds: null }, {}, "none", "nobody", /is reached/],
  [{ isRegistered: false, ...NONE }, {}, "not_registered", "own", /planner is not in the mesh/],
  [NONE, {}, "no_rule", "own", /^No rule lets planner reach 8080\/tcp of builder\. Run/],
  [OTHERS, {}, "wrong_port", "own", /only 443\/tcp\. Use that port/],
  [{ rule: { waitingFor: "builder" } }, {}, "consent_missing", "peer", /^builder has not agreed/],
  [{ rule: { waitingFor: "planner" } }, {}, "consent_missing", "own", /^planner has not agreed/],
  [
    { problems: { own: null, peer: TAKEN } },
    SILENT,
    "network_taken",
    "peer",
    /^The host of builder/,
  ],
  [
    { problems: { own: TAKEN, peer: TAKEN } },
    {},
    "network_taken",
    "own",
    /^The host of planner .* 172\.17\.0\.0\/16/,
  ],
  [{ problems: { own: TAKEN, peer: null }, ...NONE }, {}, "no_rule", "own", /^No rule/],
  [{}, { hasRegisteredKey: false }, "other_key", "own", /another key than the registered/],
  [{}, { hasPeer: false }, "peer_not_configured", "own", /does not know builder/],
  [{}, { hasSamePsk: false }, "other_psk", "own", /another PSK for builder/],
  [{}, SILENT, "no_path", "peer", /no answer by UDP from builder at 192\.0\.2\.1:51820\./],
  [{ isOnline: false }, SILENT, "peer_offline", "peer", /^builder is offline/],
  [{ pathReason: NAT }, SILENT, "no_path", "operator", /no relay is set\. Set a relay/],
  [{}, { ...SILENT, received: "initiations" }, "peer_differs", "peer", /another PSK/],
  [{}, { ...SILENT, received: "packets" }, "tcp_dropped", "peer", /drops pings/],
  [{}, { largePing: false }, "large_packets_lost", "operator", /packets of 1,280 bytes do not/],
  [{}, { connect: "refused" }, "nothing_listens", "peer", /nothing listens on 8080\/tcp/],
  [{}, { connect: "timeout" }, "tcp_dropped", "peer", /answers pings, but drops/],
  [{}, { smallPing: null, largePing: null }, "none", "nobody", /is reached/],
  [{}, { ...SILENT, smallPing: null }, "no_path", "peer", /No packet reaches builder/],
  [{ proto: "udp" }, { connect: null }, "not_tested", "nobody", /UDP cannot be tested/],
  [{ tunnel: null }, {}, "not_tested", "own", /the tunnel works, but this process cannot test/],
  [UNSEEN, {}, "not_tested", "own", /no host has reported its tunnel/],
  [{ ...UNSEEN, isOnline: false }, {}, "peer_offline", "peer", /^builder is offline/],
  [through("open"), {}, "none", "nobody", /is reached/],
  [through("refused"), {}, "nothing_listens", "peer", /nothing listens on 8080\/tcp/],
  [through("timeout"), {}, "tcp_dropped", "peer", /^The tunnel to builder works, but its host/],
  [through("timeout", UNSEEN), {}, "no_path", "peer", /^No packet reaches builder/],
  [
    through("timeout", { ...UNSEEN, isOnline: false }),
    {},
    "peer_offline",
    "peer",
    /^builder is offline/,
  ],
  [through("denied"), {}, "peer_not_configured", "own", /runs an old configuration/],
  [through("unknown_peer"), {}, "peer_not_configured", "own", /does not know builder/],
  [through("no_proxy"), {}, "not_tested", "own", /Is mesh join running\?$/],
  [through("token_refused"), {}, "not_tested", "own", /makes a new one/],
  [through("failed"), {}, "not_tested", "own", /Try again/],
  [through("open", { rule: null }), {}, "no_rule", "own", /^No rule lets/],
  [
    { tunnel: null, reports: { own: false, peer: null }, pathReason: NAT },
    {},
    "no_path",
    "operator",
    /Set a relay/,
  ],
];

for (const [facts, tunnel, cause, turn, sentence] of CASES) {
  const name = JSON.stringify({ ...facts, ...tunnel });
  Deno.test(`diagnose() of what works, but for ${name} → ${cause}, ${turn}`, () => {
    const found = diagnose(
      { ...WORKS, tunnel: { ...TUNNEL, ...tunnel }, ...facts } as ProbeFacts,
    );
    assert.deepEqual([found.cause, found.turn], [cause, turn]);
    assert.match(found.sentence, sentence);
  });
}

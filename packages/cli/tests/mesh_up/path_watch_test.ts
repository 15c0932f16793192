/** With which peers a tunnel works, what is logged, and what each report contains. */
import assert from "node:assert/strict";
import type { PathState } from "../../../agent-peer/forwarding/agent/path_file.ts";
import type { WantedPeer } from "../../mesh/up/wanted/accept.ts";
import { PeerWatch } from "../../mesh/up/wanted/path_watch.ts";
import type { Running, RunningPeer } from "../../mesh/up/wanted/running.ts";

const NOW = 1_790_000_000;
const PORT = "127.0.0.1:41395";

function peerAt(at: number, rest: Partial<WantedPeer> = {}): WantedPeer {
  const names = { agentId: `peer-${at}`, name: `peer-${at}`, publicKey: `key-${at}` };
  const addresses = { ipv4: `10.213.0.${at}`, ipv6: `fd00::${at}` };
  return {
    ...names,
    ...addresses,
    presharedKey: "",
    endpoint: null,
    keepalive: 25,
    rules: [],
    ...rest,
  };
}

function running(peers: readonly Partial<RunningPeer>[]): Running {
  const states = peers.map((peer, at): RunningPeer => ({
    publicKey: `key-${at}`,
    presharedKey: "",
    endpoint: `192.0.2.1:${1000 + at}`,
    allowedIps: [],
    handshakeAt: 0,
    receivedBytes: 0,
    keepalive: 25,
    ...peer,
  }));
  return {
    publicKey: "own",
    listenPort: 51_820,
    peers: new Map(states.map((state) => [state.publicKey, state])),
  };
}

const REST = { forwarding: null, hasEndpoint: false };

Deno.test("a peer answers, falls silent and answers again → said each time, and asked meanwhile", () => {
  const watch = new PeerWatch();
  const peers = [peerAt(0)];
  const look = (after: number, state: Partial<RunningPeer>) => {
    const found = watch.look(running([state]), { peers, now: NOW + after, ...REST });
    return [found.news.join(), found.asked.length, found.silent.size] as const;
  };
  const at = "at 192.0.2.1:1000";
  const session = { handshakeAt: NOW };
  assert.deepEqual(look(1, { ...session, receivedBytes: 1 }), [
    `peer-0: connected, directly, ${at}`,
    0,
    0,
  ]);
  assert.deepEqual(look(11, { ...session, receivedBytes: 1 }), ["", 0, 0]);
  assert.deepEqual(look(21, { ...session, receivedBytes: 1 }), ["", 1, 0]);
  assert.deepEqual(look(31, { ...session, receivedBytes: 1 }), ["", 1, 0]);
  assert.deepEqual(look(41, { ...session, receivedBytes: 1 }), [
    "peer-0: no connection any more; the last handshake was 41 s ago, and nothing comes from 192.0.2.1:1000",
    0,
    1,
  ]);
  assert.deepEqual(look(51, { ...session, receivedBytes: 2 }), [
    `peer-0: connected, directly, ${at}`,
    0,
    0,
  ]);
});

Deno.test("peers that never answer → said after the second look, with the reason", () => {
  const watch = new PeerWatch();
  const named = { host: "c.example", port: 1, isName: true };
  const peers = [peerAt(0), peerAt(1), peerAt(2, { endpoint: named })];
  const state = running([{}, { endpoint: null }, { endpoint: null }]);
  const look = (after: number) => watch.look(state, { peers, now: NOW + after, ...REST }).news;
  assert.deepEqual(look(0), []);
  assert.deepEqual(look(10), [
    "peer-0: no connection; no answer by UDP from 192.0.2.1:1000",
    "peer-1: no connection; neither side has an endpoint: both may be behind NAT",
    "peer-2: no connection; c.example:1 does not resolve, or leads back to this host",
  ]);
  assert.deepEqual(look(20), []);
});

Deno.test("a program of this host that says by which way after the tunnel works → said when it does, once", () => {
  const outer = "198.51.100.10:58883";
  const forwarding = (via: "none" | "direct"): PathState => ({
    endpoints: [],
    peers: [{ publicKey: "key-0", endpoint: PORT, via, outer, before: null }],
    sought: [],
  });
  const watch = new PeerWatch();
  const looks = [null, forwarding("none"), forwarding("direct"), forwarding("direct")];
  const news = looks.map((state, index) => {
    const now = NOW + 10 * index;
    const peer = { endpoint: PORT, handshakeAt: now - 1, receivedBytes: 100 + index };
    const look = { peers: [peerAt(0)], now, forwarding: state, hasEndpoint: false };
    return watch.look(running([peer]), look).news.join();
  });
  assert.deepEqual(news, [
    `peer-0: connected, by way of a program of this host, at ${PORT}`,
    `peer-0: is reached by way of a program of this host, at ${outer}`,
    `peer-0: is reached by way of a program of this host, directly, at ${outer}`,
    "",
  ]);
});

Deno.test("a program of this host seeks a path, and finds none → logged once, when it stops seeking", () => {
  const own = {
    publicKey: "key-0",
    endpoint: PORT,
    via: "none",
    outer: null,
    before: null,
  } as const;
  const seeks: PathState = { endpoints: [], peers: [own], sought: ["key-0"] };
  const watch = new PeerWatch();
  const news = [seeks, seeks, seeks, { ...seeks, sought: [] }, seeks].map((forwarding, index) =>
    watch.look(running([{ endpoint: PORT }]), {
      peers: [peerAt(0)],
      now: NOW + 10 * index,
      forwarding,
      hasEndpoint: false,
    }).news.join()
  );
  const none =
    "peer-0: no connection; no way to it is found: neither punching nor a relay reaches it";
  assert.deepEqual(news, ["", "", "", none, ""]);
});

Deno.test("150 peers → three reports name them all; those that have turned come first", () => {
  const watch = new PeerWatch();
  const peers = Array.from({ length: 150 }, (_, at) => peerAt(at));
  const look = (now: number, works: (at: number) => boolean) => {
    const state = peers.map((_, at) => ({
      handshakeAt: works(at) ? now - 1 : 0,
      receivedBytes: now,
    }));
    watch.look(running(state), { peers, now, ...REST });
  };
  look(NOW, () => true);
  const reports = [1, 2, 3].map((after) => watch.report(NOW + after));
  assert.ok(reports.every(({ length }) => length === 64));
  const named = new Set(reports.flat().map(({ agent_id }) => agent_id));
  assert.equal(named.size, 150);
  assert.equal(watch.isOneReportEnough, false);
  look(NOW + 10, (at) => at !== 100);
  const [first] = watch.report(NOW + 5);
  assert.deepEqual([first!.agent_id, first!.via, first!.handshake_age_seconds], [
    "peer-100",
    "none",
    null,
  ]);
});

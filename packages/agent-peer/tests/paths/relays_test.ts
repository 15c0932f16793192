import assert from "node:assert/strict";
import { type Attempt, attemptsOf, firstOf } from "../../paths/relays/attempts.ts";
import { parseServerUrl, type Transport } from "../../paths/relays/ice_servers.ts";
import { RelayKeeper } from "../../paths/relays/relay_keeper.ts";
import type { Allocation } from "../../paths/turn/allocation.ts";
import { World } from "../wireguard/simulation.ts";

for (
  const [url, expected] of [
    ["turn:relay.example", "turn udp relay.example 3478"],
    ["turn:relay.example:80?transport=tcp", "turn tcp relay.example 80"],
    ["turns:relay.example:443?transport=tcp", "turn tls relay.example 443"],
    ["turns:relay.example", "turn tls relay.example 5349"],
    ["TURN:192.0.2.1:1?transport=UDP", "turn udp 192.0.2.1 1"],
    ["stun:[2001:db8::1]:19302", "stun udp 2001:db8::1 19302"],
    ["turns:relay.example?transport=udp", null],
    ["turn:relay.example:0", null],
    ["turn:relay.example:65536", null],
    ["turn:", null],
    ["turn://relay.example", null],
    ["https://relay.example", null],
    ["turn:agent@relay.example:1 ", null],
  ] as const
) {
  Deno.test(`parseServerUrl(${JSON.stringify(url)}) → ${expected}`, () => {
    const parsed = parseServerUrl(url);
    const text = parsed &&
      [parsed.isTurn ? "turn" : "stun", parsed.transport, parsed.host, parsed.port].join(" ");
    assert.equal(text, expected);
  });
}

const SERVERS = [{
  urls: [
    "turns:r.example:443",
    "turn:r.example:80?transport=tcp",
    "turn:r.example",
    "stun:s.example",
  ],
  username: "agent",
  credential: "secret",
}];

Deno.test("attemptsOf() → UDP, TCP, TLS, and then through the proxy with TLS first", () => {
  const proxy = new URL("http://proxy.example:3128/");
  const names = (attempts: readonly Attempt[]) =>
    attempts.map(({ transport, port, proxy }) => `${transport} ${port}${proxy ? " proxy" : ""}`);
  assert.deepEqual(names(attemptsOf(SERVERS, () => null)), ["udp 3478", "tcp 80", "tls 443"]);
  assert.deepEqual(names(attemptsOf(SERVERS, (_host, port) => port === 443 ? proxy : null)), [
    "udp 3478",
    "tcp 80",
    "tls 443",
    "tls 443 proxy",
  ]);
  assert.deepEqual(names(attemptsOf(SERVERS, () => proxy)).slice(3), [
    "tls 443 proxy",
    "tcp 80 proxy",
  ]);
});

/** Resolves when every promise that can settle by itself has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("firstOf() → a head start for the better ways; what succeeds later is told", async () => {
  const world = new World();
  const attempts = attemptsOf(SERVERS, () => null);
  const begun = new Map<string, (result: string) => void>();
  const late: string[] = [];
  const first = firstOf(attempts, {
    surroundings: world.surroundings,
    open: ({ transport }) => new Promise<string>((resolve) => begun.set(transport, resolve)),
    onLate: ({ result }, first) => void late.push(`${result} after ${first.result}`),
  });
  assert.deepEqual([...begun.keys()], ["udp"]);
  world.advance(800);
  assert.deepEqual([...begun.keys()], ["udp", "tcp"]);
  begun.get("tcp")!("by TCP");
  assert.equal((await first).result, "by TCP");
  begun.get("udp")!("by UDP");
  await settle();
  assert.deepEqual(late, ["by UDP after by TCP"]);
  world.advance(10_000);
  assert.deepEqual([...begun.keys()], ["udp", "tcp"]);
});

Deno.test("firstOf() when all fail → the last error, at once; without any attempt → an error", async () => {
  const world = new World();
  const begun: string[] = [];
  const options = {
    surroundings: world.surroundings,
    open: ({ transport }: Attempt) => {
      begun.push(transport);
      return Promise.reject(new Error(`no ${transport}`));
    },
    onLate: () => {},
  };
  await assert.rejects(firstOf(attemptsOf(SERVERS, () => null), options), /no tls/);
  assert.deepEqual(begun, ["udp", "tcp", "tls"]);
  await assert.rejects(firstOf([], options), /No TURN server/);
});

/** A RelayKeeper whose service and relays are simulated by the test. */
function keep() {
  const world = new World();
  const log: string[] = [];
  const state = {
    isUp: true,
    hasRelay: true,
    works: ["udp", "tcp", "tls"],
    isUdpBlocked: false,
    /** Milliseconds until an allocation succeeds, by transport. */
    delays: {} as Partial<Record<Transport, number>>,
  };
  const ends = new Map<string, () => void>();
  let asked = 0;
  const keeper = new RelayKeeper({
    surroundings: world.surroundings,
    iceServers: () => {
      asked += 1;
      if (!state.isUp) return Promise.reject(new Error("The service is down."));
      const expires_at = new Date(world.surroundings.unixTime() + 3_600_000).toISOString();
      return Promise.resolve(state.hasRelay ? { ice_servers: SERVERS, expires_at } : null);
    },
    proxyFor: () => null,
    isUdpBlocked: () => state.isUdpBlocked,
    open: ({ transport }, { via, onEnd }) => {
      log.push(`${transport} ${via}`);
      if (!state.works.includes(transport)) return Promise.reject(new Error("blocked"));
      ends.set(via, onEnd);
      const relayed = { address: "198.51.100.1", port: 50000 };
      const permitOnly = () => Promise.resolve();
      const close = () => void log.push(`close ${via}`);
      const allocation = { via, relayed, permitOnly, close } as unknown as Allocation;
      const delay = state.delays[transport];
      if (delay === undefined) return Promise.resolve(allocation);
      return new Promise((resolve) => world.surroundings.after(delay, () => resolve(allocation)));
    },
    onChange: () => {},
    onServers: () => {},
  });
  const vias = () => keeper.allocations.map(({ via }) => via);
  const advance = async (minutes: number) => {
    for (let second = 0; second < minutes * 60; second += 10) {
      world.advance(10_000);
      await settle();
    }
  };
  return { keeper, log, state, ends, vias, advance, world, asked: () => asked };
}

Deno.test("an hour of credentials → before they expire, a second allocation; the first stays for a while", async () => {
  const { keeper, vias, advance, asked, log } = keep();
  await keeper.start();
  assert.deepEqual(vias(), ["relay-1"]);
  await advance(49);
  assert.deepEqual([vias(), asked()], [["relay-1"], 1]);
  await advance(2);
  assert.deepEqual([vias(), asked()], [["relay-2", "relay-1"], 2]);
  await advance(4);
  assert.deepEqual([vias(), log.at(-1)], [["relay-2"], "close relay-1"]);
  keeper.close();
  assert.deepEqual([vias(), log.at(-1)], [[], "close relay-2"]);
});

Deno.test("an allocation that ends by itself → another one at once, with the same credentials", async () => {
  const { keeper, vias, ends, asked } = keep();
  await keeper.start();
  ends.get("relay-1")!();
  assert.deepEqual(vias(), []);
  await settle();
  assert.deepEqual([vias(), asked()], [["relay-2"], 1]);
});

Deno.test("the service or the relay is down → tried again until it is up", async () => {
  const { keeper, state, vias, advance, asked } = keep();
  state.isUp = false;
  await keeper.start();
  await advance(1);
  assert.deepEqual(vias(), []);
  assert.ok(asked() > 2 && asked() < 10, `${asked()} requests`);
  [state.isUp, state.works] = [true, []];
  await advance(2);
  assert.deepEqual(vias(), []);
  state.works = ["tls"];
  await advance(2);
  assert.equal(vias().length, 1);
});

Deno.test("no relay is set → asked for again after ten minutes", async () => {
  const { keeper, state, vias, advance, asked } = keep();
  state.hasRelay = false;
  await keeper.start();
  await advance(9);
  assert.deepEqual([vias(), asked()], [[], 1]);
  state.hasRelay = true;
  await advance(2);
  assert.deepEqual([vias(), asked()], [["relay-1"], 2]);
});

Deno.test("UDP is blocked → a renewal begins with what worked; in another network, with UDP again", async () => {
  const { keeper, state, log, ends } = keep();
  [state.works, state.isUdpBlocked] = [["tls"], true];
  await keeper.start();
  assert.deepEqual(log, ["udp relay-1", "tcp relay-2", "tls relay-3"]);
  ends.get("relay-3")!();
  await settle();
  assert.deepEqual(log.slice(3), ["tls relay-4"]);
  state.works = ["udp"];
  await keeper.restart();
  assert.deepEqual(log.slice(4), ["udp relay-5"]);
});

Deno.test("close() while an allocation is made → it is closed, too", async () => {
  const { keeper, vias, log } = keep();
  const starting = keeper.start();
  keeper.close();
  await starting;
  assert.deepEqual([vias(), log.at(-1)], [[], "close relay-1"]);
});

Deno.test("UDP answers after TCP → it takes over, and the relay by TCP stays for a while", async () => {
  const { keeper, state, vias, advance, world, asked } = keep();
  state.delays = { udp: 2000 };
  const started = keeper.start();
  await settle();
  world.advance(1000);
  await started;
  assert.deepEqual([vias(), keeper.worksByUdp], [["relay-2"], false]);
  world.advance(1000);
  await settle();
  assert.deepEqual([vias(), keeper.worksByUdp], [["relay-1", "relay-2"], true]);
  await advance(4);
  assert.deepEqual([vias(), asked()], [["relay-1"], 1]);
  state.delays = {};
  await advance(47);
  assert.deepEqual([vias(), asked()], [["relay-3", "relay-1"], 2]);
});

Deno.test("TCP answers after UDP, or UDP after the relay by TCP has ended → closed", async () => {
  const slow = keep();
  slow.state.delays = { udp: 1000, tcp: 1000 };
  const started = slow.keeper.start();
  await settle();
  slow.world.advance(1000);
  await started;
  slow.world.advance(1000);
  await settle();
  assert.deepEqual([slow.vias(), slow.log.at(-1)], [["relay-1"], "close relay-2"]);
  const lost = keep();
  lost.state.delays = { udp: 2000 };
  const begun = lost.keeper.start();
  await settle();
  lost.world.advance(1000);
  await begun;
  lost.state.delays = { udp: 5000 };
  lost.ends.get("relay-2")!();
  await settle();
  lost.world.advance(1000);
  await settle();
  assert.ok(lost.log.includes("close relay-1"), lost.log.join());
});

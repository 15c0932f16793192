import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { Introductions } from "./hosts/introductions.ts";
import { PathPeer } from "./hosts/path_peer.ts";
import { RelayHost } from "./hosts/relay_host.ts";
import { addSite, type Site } from "./hosts/sites.ts";

/** Two peers at these sites, one in Node and one in Deno, and a relay. None is open yet. */
async function pairAt(stack: AsyncDisposableStack, sites: readonly [Site, Site]) {
  const internet = stack.use(await Internet.create());
  const relay = await RelayHost.start(await internet.addHost("relay"));
  const [leftAt, rightAt] = [
    await addSite(internet, "l", sites[0]),
    await addSite(internet, "r", sites[1]),
  ];
  const left = stack.use(await PathPeer.start(leftAt, { inner: "10.0.1.1", runtime: "node" }));
  const right = stack.use(await PathPeer.start(rightAt, { inner: "10.0.2.1", runtime: "deno" }));
  return { internet, relay, left, right };
}

/** Allows 2 % loss: a busy machine loses some packets, on any path. */
function assertAnswered(answered: number, sent: number): void {
  assert.ok(answered >= 0.98 * sent, `${answered} of ${sent} were answered`);
}

/** From now on, both peers know the relay and each other. */
async function introduce(
  stack: AsyncDisposableStack,
  { relay, left, right, seconds = 3600 }: {
    readonly relay: RelayHost | null;
    readonly left: PathPeer;
    readonly right: PathPeer;
    readonly seconds?: number;
  },
): Promise<void> {
  const access = { relay: relay?.answer(seconds) ?? null, ca: relay?.authority ?? "" };
  await Promise.all([left.open(access), right.open(access)]);
  stack.use(new Introductions(left, right));
}

tunnelTest(
  "routers let datagrams through later → from the relay to a direct way, while packets go on",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { internet, relay, left, right } = await pairAt(stack, [
      "port-restricted",
      "port-restricted",
    ]);
    const relayAddress = relay.host.address!;
    const input = `table ip between {
  chain forward {
    type filter hook forward priority filter;
    ip saddr != ${relayAddress} ip daddr != ${relayAddress} meta l4proto udp drop
  }
}`;
    await internet.router.run(["nft", "-f", "-"], { input });
    await introduce(stack, { relay, left, right });
    await left.untilJoined(right);
    await left.untilVia(right, "relay");
    await left.startPings(right);
    await right.startPings(left);
    await internet.router.run(["nft", "delete", "table", "ip", "between"]);
    await left.untilVia(right, "direct");
    await Promise.all([left.untilPinged(200), right.untilPinged(200)]);
    for (const { sent, answered } of [await left.stopPings(), await right.stopPings()]) {
      assert.ok(sent >= 200);
      assertAnswered(answered, sent);
    }
  },
);

tunnelTest("the relay restarts → new allocations, and the peers are joined again", async () => {
  await using stack = new AsyncDisposableStack();
  const { relay, left, right } = await pairAt(stack, ["symmetric", "UDP blocked"]);
  await introduce(stack, { relay, left, right });
  await left.untilJoined(right);
  const before = await left.state();
  await relay.restart();
  await eventually("both have another relayed address", {
    condition: async () => (await left.state()).endpoints[0] !== before.endpoints[0],
  });
  await left.untilJoined(right);
  await left.untilVia(right, "relay");
});

tunnelTest("credentials expire → a new allocation before that, while packets go on", async () => {
  await using stack = new AsyncDisposableStack();
  const { relay, left, right } = await pairAt(stack, ["symmetric", "HTTP proxy alone"]);
  await introduce(stack, { relay, left, right, seconds: 130 });
  await left.untilJoined(right);
  const [leftBefore, rightBefore] = [await left.state(), await right.state()];
  const answer = relay.answer();
  for (const peer of [left, right]) await peer.tell({ do: "setRelay", relay: answer });
  await left.startPings(right);
  await eventually("both have renewed their allocations", {
    condition: async () =>
      (await left.state()).endpoints[0] !== leftBefore.endpoints[0] &&
      (await right.state()).endpoints[0] !== rightBefore.endpoints[0],
  });
  // Wait until both use the new allocations.
  await left.untilPinged((await left.state()).pings + 200);
  const { sent, answered } = await left.stopPings();
  assert.ok(sent >= 200);
  assertAnswered(answered, sent);
  assert.deepEqual([(await left.state()).relayRequests, (await right.state()).relayRequests], [
    2,
    2,
  ]);
});

tunnelTest("a host moves to another address → found again", async () => {
  await using stack = new AsyncDisposableStack();
  const { internet, relay, left, right } = await pairAt(stack, ["none", "symmetric"]);
  await introduce(stack, { relay, left, right });
  await left.untilJoined(right);
  await left.untilVia(right, "direct");
  const { host } = left.at;
  const old = host.address!;
  const other = "203.0.113.2";
  const link = JSON.parse(await internet.router.run(["ip", "-j", "route", "get", old]))[0].dev;
  await internet.router.run(["ip", "address", "add", "203.0.113.1/30", "dev", link]);
  await host.run(["ip", "address", "add", `${other}/30`, "dev", "uplink"]);
  await host.run(["ip", "route", "replace", "default", "via", "203.0.113.1"]);
  await host.run(["ip", "address", "delete", `${old}/30`, "dev", "uplink"]);
  await eventually("it tells its new address", {
    condition: async () => (await left.state()).endpoints[0]?.startsWith(`${other}:`) ?? false,
  });
  await right.untilJoined(left);
  await left.untilVia(right, "direct");
});

tunnelTest(
  "UDP that is blocked, with a neighbour that is there and one that is not → tried once, and not again while the network stays",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { internet, relay, left, right } = await pairAt(stack, ["none", "UDP blocked"]);
    const at = await addSite(internet, "gone", "none");
    const gone = await PathPeer.start(at, { inner: "10.0.3.1" });
    await gone.open({ relay: relay.answer(), ca: relay.authority });
    const absent = await gone.asPeer();
    await gone[Symbol.asyncDispose]();
    const access = { relay: relay.answer(), ca: relay.authority };
    await Promise.all([left.open(access), right.open(access)]);
    await left.setPeers(right);
    const peers = [await left.asPeer(), absent];
    await right.tell({ do: "setPeers", peers });
    await left.untilJoined(right);
    let last = -1;
    await eventually("no datagram for 30 s", {
      condition: async () => {
        const count = await right.at.countBlocked();
        if (count === last) return true;
        last = count;
        await new Promise((resolve) => setTimeout(resolve, 30_000));
        return false;
      },
    });
    assert.ok(last > 0);
    assert.equal(await right.pings(left), true);
  },
);

tunnelTest(
  "no relay: one side in the open → joined; both behind symmetric routers → neither says that it works",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { internet, left, right } = await pairAt(stack, ["symmetric", "symmetric"]);
    const at = await addSite(internet, "o", "none");
    const open = stack.use(await PathPeer.start(at, { inner: "10.0.3.1" }));
    await Promise.all([left, right, open].map((peer) => peer.open({ relay: null, ca: "" })));
    stack.use(new Introductions(left, right, open));
    await left.untilJoined(open);
    await open.untilJoined(right);
    await left.untilVia(open, "direct");
    assert.deepEqual([await left.viaTo(right), await right.viaTo(left)], ["none", "none"]);
    assert.equal(await left.pings(right), false);
  },
);

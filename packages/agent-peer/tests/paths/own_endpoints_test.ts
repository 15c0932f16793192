import assert from "node:assert/strict";
import { NetworkWatch } from "../../paths/places/network_watch.ts";
import { addressesHere, ownEndpoints } from "../../paths/places/own_endpoints.ts";
import { World } from "../wireguard/simulation.ts";

const PUBLIC = { address: "198.51.100.7", port: 51820 };
const PRIVATE = { address: "10.0.0.7", port: 51820 };
const IPV6 = { address: "2001:db8::7", port: 51820 };
const OUTSIDE = { address: "203.0.113.9", port: 40000 };
const RELAYED = { address: "203.0.113.1", port: 50000 };

for (
  const [name, places, expected] of [
    ["a public address", { local: [PUBLIC, IPV6] }, ["198.51.100.7:51820", "[2001:db8::7]:51820"]],
    [
      "a public address, as servers see it, and a relay",
      { local: [PUBLIC], seen: [PUBLIC], relayed: [RELAYED] },
      ["198.51.100.7:51820", "203.0.113.1:50000"],
    ],
    [
      "behind a router, with a relay → the relay first",
      { local: [PRIVATE], seen: [OUTSIDE], relayed: [RELAYED] },
      ["203.0.113.1:50000", "203.0.113.9:40000", "10.0.0.7:51820"],
    ],
    [
      "a router replaces a public address → not the first",
      { local: [PUBLIC], seen: [OUTSIDE], relayed: [RELAYED] },
      ["203.0.113.1:50000", "203.0.113.9:40000", "198.51.100.7:51820"],
    ],
    [
      "IPv4 behind a router, and IPv6 → what everybody reaches first",
      { local: [PRIVATE, IPV6], seen: [OUTSIDE, IPV6], relayed: [RELAYED] },
      ["203.0.113.1:50000", "203.0.113.9:40000", "[2001:db8::7]:51820", "10.0.0.7:51820"],
    ],
    ["a private network alone", { local: [PRIVATE] }, ["10.0.0.7:51820"]],
    ["nothing", {}, []],
    [
      "many addresses → four",
      { local: [1, 2, 3, 4, 5].map((last) => ({ address: `10.0.0.${last}`, port: 1 })) },
      ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.4:1"],
    ],
  ] as const
) {
  Deno.test(`ownEndpoints() with ${name}`, () => {
    assert.deepEqual(ownEndpoints({ local: [], seen: [], relayed: [], ...places }), expected);
  });
}

Deno.test("NetworkWatch → notices other addresses within seconds, their order not; and a sleep", () => {
  const world = new World();
  let addresses = ["10.0.0.1", "10.0.0.2"];
  const watch = new NetworkWatch(world.surroundings, () => addresses);
  const changesIn = (seconds: number) => {
    let changes = 0;
    for (let second = 0; second < seconds; second++) {
      world.advance(1000);
      if (watch.hasChanged()) changes += 1;
    }
    return changes;
  };
  assert.equal(changesIn(60), 0);
  addresses = ["10.0.0.2", "10.0.0.1"];
  assert.equal(changesIn(60), 0);
  addresses = ["10.0.0.3"];
  assert.equal(changesIn(5), 1);
  assert.deepEqual(watch.addresses, ["10.0.0.3"]);
  assert.equal(changesIn(60), 0);
  world.sleep(3_600_000);
  assert.equal(changesIn(1), 1);
  assert.equal(changesIn(60), 0);
});

for (
  const [name, places, expected] of [
    ["a public address, as servers see it", { local: [PUBLIC], seen: [PUBLIC] }, [PUBLIC]],
    ["a public address, and no server", { local: [PRIVATE, PUBLIC], seen: [] }, [PUBLIC]],
    ["a public address that a router replaces", { local: [PUBLIC], seen: [OUTSIDE] }, []],
    ["a private network", { local: [PRIVATE], seen: [OUTSIDE] }, []],
    ["a private network, and IPv6", { local: [PRIVATE, IPV6], seen: [OUTSIDE] }, [IPV6]],
  ] as const
) {
  Deno.test(`addressesHere() with ${name}`, () => {
    assert.deepEqual(addressesHere(places), expected);
  });
}

import assert from "node:assert/strict";
import { candidatesOf, type Whereabouts } from "../../paths/peers/candidates.ts";
import { Ranks } from "../../paths/peers/ranks.ts";
import { Names } from "../../paths/places/names.ts";
import { World } from "../wireguard/simulation.ts";

const RELAY = "203.0.113.1";

function candidates(
  peer: Partial<Whereabouts>,
  options: { readonly relayed?: string; readonly self?: string } = {},
): string[] {
  const names = new Names({
    surroundings: new World().surroundings,
    onChange: () => {},
    lookUp: () => Promise.resolve([]),
  });
  const ranks = new Ranks();
  ranks.relayAddresses = new Set([RELAY]);
  return candidatesOf({ endpoints: [], observed_endpoint: null, ...peer }, {
    names,
    ranks,
    relay: options.relayed === undefined
      ? null
      : { via: "relay-2", relayed: { address: options.relayed, port: 50001 } },
    isSelf: ({ address, port }) => `${address}:${port}` === options.self,
  }).map(({ address, port, via }) => `${address} ${port} ${via}`);
}

Deno.test("candidatesOf() → endpoints, then what others observed, each once", () => {
  assert.deepEqual(
    candidates({
      endpoints: ["198.51.100.7:1", "[2001:db8::7]:1"],
      observed_endpoint: "198.51.100.7:2",
    }),
    ["198.51.100.7 1 udp", "2001:db8::7 1 udp", "198.51.100.7 2 udp"],
  );
  const same = { endpoints: ["198.51.100.7:1"], observed_endpoint: "198.51.100.7:1" };
  assert.deepEqual(candidates(same), ["198.51.100.7 1 udp"]);
});

Deno.test("candidatesOf() with a relay on either side → directly first, by both relays last", () => {
  const endpoints = [`${RELAY}:50000`, "198.51.100.7:1", "[2001:db8::7]:1"];
  assert.deepEqual(candidates({ endpoints }, { relayed: RELAY }), [
    "198.51.100.7 1 udp",
    "2001:db8::7 1 udp",
    `${RELAY} 50000 udp`,
    "198.51.100.7 1 relay-2",
    `${RELAY} 50000 relay-2`,
  ]);
});

Deno.test("candidatesOf() in a private network → by a relay there, and not by one on the internet", () => {
  const peer = { endpoints: ["10.0.0.1:1"] };
  assert.deepEqual(candidates(peer, { relayed: RELAY }), ["10.0.0.1 1 udp"]);
  assert.deepEqual(candidates(peer, { relayed: "10.9.9.9" }), [
    "10.0.0.1 1 udp",
    "10.0.0.1 1 relay-2",
  ]);
});

Deno.test("candidatesOf() with addresses that no other host can have → left out", () => {
  const endpoints = ["127.0.0.1:1", "[::1]:1", "169.254.1.1:1", "0.0.0.0:1", "nonsense", "a:0"];
  assert.deepEqual(candidates({ endpoints, observed_endpoint: "[ff02::1]:1" }), []);
  const own = { endpoints: ["10.0.0.1:1", "10.0.0.1:2"] };
  assert.deepEqual(candidates(own, { self: "10.0.0.1:1" }), ["10.0.0.1 2 udp"]);
});

Deno.test("Names.addressesOf() → asks once, tells of the answer; a failure later keeps it", async () => {
  const world = new World();
  const asked: string[] = [];
  let [answer, changes] = [["198.51.100.7"], 0];
  const names = new Names({
    surroundings: world.surroundings,
    onChange: () => void (changes += 1),
    lookUp: (name) => {
      asked.push(name);
      return answer.length === 0 ? Promise.reject(new Error("no answer")) : Promise.resolve(answer);
    },
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(names.addressesOf("198.51.100.9"), ["198.51.100.9"]);
  assert.deepEqual(names.addressesOf("peer.example"), []);
  assert.deepEqual(names.addressesOf("peer.example"), []);
  await settle();
  assert.deepEqual([names.addressesOf("peer.example"), asked, changes], [
    ["198.51.100.7"],
    ["peer.example"],
    1,
  ]);
  world.advance(60_000);
  answer = [];
  assert.deepEqual(names.addressesOf("peer.example"), ["198.51.100.7"]);
  await settle();
  assert.deepEqual([names.addressesOf("peer.example"), asked.length], [["198.51.100.7"], 2]);
  answer = ["198.51.100.8"];
  names.forget();
  names.addressesOf("peer.example");
  await settle();
  assert.deepEqual([names.addressesOf("peer.example"), changes], [["198.51.100.8"], 2]);
});

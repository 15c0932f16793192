import assert from "node:assert/strict";
import { AllowedIps } from "../../wireguard/routing/allowed_ips.ts";
import { readIpHeader } from "../../wireguard/routing/ip_packet.ts";
import { addressBytes, parseNetwork } from "../../wireguard/routing/networks.ts";
import { ipv4Packet, ipv6Packet } from "./packets.ts";
import { pairOf, World } from "./simulation.ts";

const text = (content: string) => new TextEncoder().encode(content);

Deno.test("AllowedIps.find() → the owner of the longest prefix, by family", () => {
  const table = new AllowedIps<string>();
  const networks = {
    "10.0.0.0/8": "a",
    "10.1.0.0/16": "b",
    "10.1.2.3": "c",
    "0.0.0.0/0": "rest",
    "fd00::/64": "d",
    "fd00::1/128": "e",
  };
  for (const [network, owner] of Object.entries(networks)) table.add(parseNetwork(network), owner);
  const found = ["10.9.9.9", "10.1.9.9", "10.1.2.3", "192.0.2.1", "fd00::2", "fd00::1", "fd01::1"]
    .map((address) => table.find(addressBytes(address)!));
  assert.deepEqual(found, ["a", "b", "c", "rest", "d", "e", null]);
  table.clear();
  assert.equal(table.find(addressBytes("10.1.2.3")!), null);
});

Deno.test("parseNetwork() of what is no network → RangeError", () => {
  for (
    const bad of ["", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/8/8", "::1/129", "fe80::1%lo/64", "a/8"]
  ) {
    assert.throws(() => parseNetwork(bad), RangeError, bad);
  }
});

Deno.test("readIpHeader() of packets cut anywhere, or longer → null, or the packet's length", () => {
  const addresses = { source: "10.0.0.1", destination: "10.0.0.2" };
  const [source, destination] = [addressBytes("fd00::1")!, addressBytes("fd00::2")!];
  for (
    const packet of [
      ipv4Packet(text("abc"), addresses),
      ipv6Packet(text("abc"), { source, destination }),
    ]
  ) {
    for (let length = 0; length < packet.length; length++) {
      assert.equal(readIpHeader(packet.subarray(0, length)), null);
    }
    const padded = new Uint8Array(packet.length + 9);
    padded.set(packet);
    assert.equal(readIpHeader(padded)?.length, packet.length);
    padded[0] = 0x50;
    assert.equal(readIpHeader(padded), null);
  }
  const tooShort = ipv4Packet(text("abc"), addresses);
  tooShort[3] = 19;
  assert.equal(readIpHeader(tooShort), null);
});

Deno.test("a packet from an address that is not the sender's → dropped; its own arrive", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  const third = world.addHost(3);
  right.tunnel.setPeers([left.asPeer(), third.asPeer()]);
  // The left host does not check the source addresses of the packets it sends.
  for (const source of ["10.0.0.3", "10.0.0.9", right.inner, left.inner]) {
    left.tunnel.sendPacket(ipv4Packet(text(source), { source, destination: right.inner }));
  }
  world.settle();
  assert.deepEqual(right.takeTexts(), [left.inner]);
});

Deno.test("allowedIps that change → the next packet is judged by them, in the same session", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  const send = (source: string) =>
    left.tunnel.sendPacket(ipv4Packet(text(source), { source, destination: right.inner }));
  send("10.0.0.1");
  world.settle();
  right.tunnel.setPeers([left.asPeer({ allowedIps: ["10.0.0.77/32"] })]);
  send("10.0.0.1");
  send("10.0.0.77");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["10.0.0.1", "10.0.0.77"]);
  assert.equal(world.sent.filter(({ bytes }) => bytes[0] === 1).length, 1);
});

Deno.test("an IPv6 packet → arrives without padding", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.tunnel.setPeers([right.asPeer({ allowedIps: ["fd00::2/128"] })]);
  right.tunnel.setPeers([left.asPeer({ allowedIps: ["fd00::1"] })]);
  const addresses = { source: addressBytes("fd00::1")!, destination: addressBytes("fd00::2")! };
  const packet = ipv6Packet(text("odd"), addresses);
  left.tunnel.sendPacket(packet);
  world.settle();
  assert.deepEqual(right.received, [{ packet, peer: left.publicKey }]);
});

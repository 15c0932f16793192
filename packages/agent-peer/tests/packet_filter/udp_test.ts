/** The UDP datagrams that the sandbox peer's filter allows. */
import assert from "node:assert/strict";
import { parsePacket } from "../../ip/filter/packet.ts";
import { PacketFilter } from "../../ip/filter/packet_filter.ts";
import { portUnreachable, udpPacket as builtPacket } from "../../ip/udp/udp_packet.ts";
import { ipPacket, udpPacket } from "./packets.ts";

const ME = { ipv4: "10.213.0.1", ipv6: "fd00::1" };
const PLANNER = { ipv4: "10.213.0.2", ipv6: "fd00::2" };
const STRANGER = { ipv4: "10.213.0.3", ipv6: "fd00::3" };
const RULES = {
  addresses: [ME.ipv4, ME.ipv6],
  peers: [{
    addresses: [PLANNER.ipv4, PLANNER.ipv6],
    inbound: [80],
    outbound: [443],
    udp: { inbound: [53], outbound: [123] },
  }],
};

/** A packet whose bytes were changed after its checksums were set. */
function changed(packet: Uint8Array, at: number, value: number): Uint8Array {
  const copy = packet.slice();
  copy[at] = value;
  return copy;
}

for (const family of ["ipv4", "ipv6"] as const) {
  const header = family === "ipv4" ? 20 : 40;
  const ends = { from: PLANNER[family], to: ME[family] };
  const right = udpPacket(ends, { toPort: 53 });

  Deno.test(`${family}: a datagram to a port of a rule for UDP → in; to one of a rule for TCP, from or to somebody else → dropped`, () => {
    const filter = new PacketFilter(RULES);
    assert.equal(filter.allows(right), true);
    for (const toPort of [80, 443, 123, 5000]) {
      assert.equal(filter.allows(udpPacket(ends, { toPort })), false, String(toPort));
    }
    const { [family]: stranger } = STRANGER;
    assert.equal(filter.allows(udpPacket({ ...ends, from: stranger }, { toPort: 53 })), false);
    assert.equal(filter.allows(udpPacket({ ...ends, to: stranger }, { toPort: 53 })), false);
    filter.update({ ...RULES, peers: RULES.peers.map(({ udp: _, ...peer }) => peer) });
    assert.equal(filter.allows(right), false, "the rule was revoked");
  });

  Deno.test(`${family}: a datagram to any port that is an answer → in, but not of a stranger`, () => {
    const filter = new PacketFilter(RULES, { isUdpAnswer: () => true });
    assert.equal(filter.allows(udpPacket(ends, { toPort: 5000 })), true);
    const { [family]: stranger } = STRANGER;
    assert.equal(filter.allows(udpPacket({ ...ends, from: stranger }, { toPort: 5000 })), false);
  });

  const hostile: Record<string, Uint8Array> = {
    "a wrong checksum": changed(right, header + 6, right[header + 6]! ^ 1),
    "a damaged byte": changed(right, header + 10, 1),
    "from port 0": udpPacket(ends, { fromPort: 0, toPort: 53 }),
    "to port 0": udpPacket(ends, { toPort: 0 }),
    "a length that is too large": udpPacket(ends, { toPort: 53, length: 14 }),
    "a length that is too small": udpPacket(ends, { toPort: 53, length: 12 }),
    "a length below that of the header": udpPacket(ends, { toPort: 53, length: 7 }),
    "length 0": udpPacket(ends, { toPort: 53, length: 0 }),
    "no whole header": ipPacket(ends, {
      protocol: 17,
      content: Uint8Array.of(19, 136, 0, 53, 0, 7, 0),
      checksumAt: 5,
    }),
    ...(family === "ipv6" && {
      "no checksum, which IPv6 forbids": changed(changed(right, 46, 0), 47, 0),
      "a fragment": ipPacket(ends, {
        protocol: 44,
        content: Uint8Array.of(17, 0, 0, 1, 0, 0, 0, 7, ...right.subarray(40)),
        checksumAt: 14,
      }),
    }),
  };
  for (const [what, packet] of Object.entries(hostile)) {
    Deno.test(`${family}: a datagram with ${what} → no packet`, () => {
      assert.notEqual(parsePacket(right), null);
      assert.equal(parsePacket(packet), null);
    });
  }

  Deno.test(`${family}: any single damaged byte, any truncation, a byte too many → no packet`, () => {
    for (let length = 0; length < right.length; length++) {
      assert.equal(parsePacket(right.subarray(0, length)), null, `${length} bytes`);
    }
    assert.equal(parsePacket(Uint8Array.of(...right, 0)), null);
    // No checksum covers the hop limit, the traffic class and the flow label of IPv6.
    const isFree = (at: number) => family === "ipv6" && (at === 7 || at < 4);
    for (let at = 0; at < right.length; at++) {
      if (!isFree(at)) {
        assert.equal(parsePacket(changed(right, at, right[at]! ^ 16)), null, `${at}`);
      }
    }
  });

  Deno.test(`${family}: datagrams that this side builds, of every size → what an independent builder makes`, () => {
    for (const size of [0, 1, 2, 3, 500, 1212, 1213]) {
      const data = crypto.getRandomValues(new Uint8Array(size));
      const datagram = { fromPort: 5000, toPort: 53, data };
      const expected = udpPacket(ends, datagram);
      const built = builtPacket(ends, datagram);
      if (family === "ipv4") {
        // Ours must not be fragmented, which its header's checksum includes.
        assert.equal(built[6], 0x40);
        assert.deepEqual(built.subarray(12), expected.subarray(12));
      } else assert.deepEqual(built, expected);
      assert.equal(parsePacket(built)?.kind, "udp");
    }
  });

  Deno.test(`${family}: a datagram whose checksum is zero → sent as ffff, which says the same`, () => {
    // The last two bytes make the sum of everything ffff.
    const zero = new Uint8Array(2);
    const first = builtPacket(ends, { fromPort: 5000, toPort: 53, data: zero });
    const data = first.subarray(header + 6, header + 8);
    const built = builtPacket(ends, { fromPort: 5000, toPort: 53, data });
    assert.deepEqual([...built.subarray(header + 6, header + 8)], [255, 255]);
    assert.equal(parsePacket(built)?.kind, "udp");
  });

  Deno.test(`${family}: "port unreachable" about a datagram → an ICMP error with right checksums, within the size of a packet`, () => {
    for (const size of [0, 1200, 60_000]) {
      const about = udpPacket(ends, { toPort: 53, data: new Uint8Array(size) });
      const error = portUnreachable({ from: ends.to, to: ends.from }, about);
      assert.equal(parsePacket(error)?.kind, "error");
      assert.ok(error.length <= (family === "ipv4" ? 576 : 1280), String(error.length));
      const quoted = error.subarray(header + 8);
      assert.ok(quoted.length >= header + 8);
      assert.deepEqual(quoted, about.subarray(0, quoted.length));
    }
  });
}

Deno.test("ipv4: a datagram without a checksum → allowed (RFC 768); a fragment, options → no packet", () => {
  const ends = { from: PLANNER.ipv4, to: ME.ipv4 };
  const right = udpPacket(ends, { toPort: 53 });
  assert.equal(parsePacket(changed(changed(right, 26, 0), 27, 0))?.kind, "udp");
  for (const [at, bits] of [[6, 0x20], [7, 1], [6, 0x80]] as const) {
    const fragment = right.slice();
    fragment[at] = bits;
    const view = new DataView(fragment.buffer);
    const before = view.getUint16(10) - view.getUint16(6);
    view.setUint16(10, before > 0 ? before : before + 0xffff);
    assert.equal(parsePacket(fragment), null, `${at}: ${bits}`);
  }
  assert.equal(parsePacket(changed(right, 0, 0x46)), null);
});

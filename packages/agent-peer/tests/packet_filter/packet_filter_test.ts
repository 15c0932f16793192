/** The packets that the sandbox peer's filter allows. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { echoRequest } from "../../ip/filter/echo_request.ts";
import { parsePacket } from "../../ip/filter/packet.ts";
import { PacketFilter } from "../../ip/filter/packet_filter.ts";
import { ACK, FIN, icmpPacket, ipPacket, PSH, RST, SYN, tcpPacket } from "./packets.ts";

const ME = { ipv4: "10.213.0.1", ipv6: "fd00::1" };
const PLANNER = { ipv4: "10.213.0.2", ipv6: "fd00::2" };
const STRANGER = { ipv4: "10.213.0.3", ipv6: "fd00::3" };
const RULES = {
  addresses: [ME.ipv4, ME.ipv6],
  peers: [{ addresses: [PLANNER.ipv4, PLANNER.ipv6], inbound: [8080], outbound: [443] }],
};
const MANY_PORTS = {
  ...RULES,
  peers: RULES.peers.map((peer) => ({ ...peer, outbound: [443, 1000, 1001] })),
};

for (const family of ["ipv4", "ipv6"] as const) {
  const fromPlanner = { from: PLANNER[family], to: ME[family] };
  const toPlanner = { from: ME[family], to: PLANNER[family] };
  const syn = (toPort: number) => ({ fromPort: 5000, toPort, flags: SYN });

  Deno.test(`${family}: a SYN to a port of a rule → in; another port, sender or receiver → dropped`, () => {
    const filter = new PacketFilter(RULES);
    assert.equal(filter.allows(tcpPacket(fromPlanner, syn(8080))), true);
    assert.equal(filter.allows(tcpPacket(fromPlanner, syn(8081))), false);
    assert.equal(
      filter.allows(tcpPacket({ ...fromPlanner, from: STRANGER[family] }, syn(8080))),
      false,
    );
    assert.equal(
      filter.allows(tcpPacket({ ...fromPlanner, to: STRANGER[family] }, syn(8080))),
      false,
    );
  });

  Deno.test(`${family}: what answers a connection that this side began → in, nothing else`, () => {
    const filter = new PacketFilter(RULES);
    const answer = { fromPort: 443, toPort: 50000, flags: SYN | ACK };
    assert.equal(filter.allows(tcpPacket(fromPlanner, answer)), false);
    const request = { fromPort: 50000, toPort: 443, flags: SYN };
    assert.equal(filter.sends(tcpPacket(toPlanner, request)), true);
    assert.equal(filter.allows(tcpPacket(fromPlanner, answer)), true);
    assert.equal(filter.allows(tcpPacket(fromPlanner, { ...answer, flags: ACK | PSH })), true);
    assert.equal(filter.allows(tcpPacket(fromPlanner, { ...answer, flags: SYN })), false);
    assert.equal(filter.allows(tcpPacket(fromPlanner, { ...answer, toPort: 50001 })), false);
    assert.equal(filter.allows(tcpPacket(fromPlanner, { ...answer, fromPort: 444 })), false);
  });

  Deno.test(`${family}: a ping of any size → out, and its answer in`, () => {
    const filter = new PacketFilter(RULES);
    for (const bytes of [48, 49, 1280]) {
      const ping = echoRequest({ ...toPlanner, bytes, identifier: 7, sequence: 65_535 });
      assert.equal(ping.length, bytes);
      assert.equal(parsePacket(ping)?.kind, "echo");
      assert.equal(filter.sends(ping), true);
    }
    assert.equal(filter.allows(icmpPacket(fromPlanner, family === "ipv4" ? 0 : 129)), true);
  });

  Deno.test(`${family}: a connection that no rule allows → does not leave`, () => {
    const filter = new PacketFilter(RULES);
    const request = { fromPort: 50000, toPort: 444, flags: SYN };
    assert.equal(filter.sends(tcpPacket(toPlanner, request)), false);
    assert.equal(
      filter.allows(tcpPacket(fromPlanner, { fromPort: 444, toPort: 50000, flags: ACK })),
      false,
    );
    assert.equal(filter.sends(tcpPacket({ ...toPlanner, to: STRANGER[family] }, syn(443))), false);
  });

  Deno.test(`${family}: echo and errors of a visible peer → in; of a stranger, other types → dropped`, () => {
    const filter = new PacketFilter(RULES);
    const [allowed, refused] = family === "ipv4"
      ? [[0, 3, 8, 11, 12], [5, 9, 13, 17]]
      : [[1, 2, 3, 4, 128, 129], [133, 134, 135, 136, 137]];
    for (const type of allowed) assert.equal(filter.allows(icmpPacket(fromPlanner, type)), true);
    for (const type of refused) assert.equal(filter.allows(icmpPacket(fromPlanner, type)), false);
    const stranger = { ...fromPlanner, from: STRANGER[family] };
    for (const type of allowed) assert.equal(filter.allows(icmpPacket(stranger, type)), false);
    assert.equal(filter.sends(icmpPacket(toPlanner, family === "ipv4" ? 0 : 129)), true);
  });

  Deno.test(`${family}: a revoked rule → its open connections are not allowed, in either direction`, () => {
    const filter = new PacketFilter(RULES);
    const inbound = { remoteAddress: PLANNER[family], remotePort: 5000, localPort: 8080 };
    const outbound = { remoteAddress: PLANNER[family], remotePort: 443, localPort: 50000 };
    filter.sends(tcpPacket(toPlanner, { fromPort: 50000, toPort: 443, flags: SYN }));
    assert.deepEqual([inbound, outbound].map((one) => filter.allowsConnection(one)), [true, true]);
    const [peer] = RULES.peers;
    filter.update({ ...RULES, peers: [{ ...peer!, inbound: [] }] });
    assert.deepEqual([inbound, outbound].map((one) => filter.allowsConnection(one)), [false, true]);
    filter.update({ ...RULES, peers: [{ ...peer!, outbound: [] }] });
    assert.deepEqual([inbound, outbound].map((one) => filter.allowsConnection(one)), [true, false]);
    assert.equal(
      filter.allows(tcpPacket(fromPlanner, { fromPort: 443, toPort: 50000, flags: ACK })),
      false,
    );
    filter.update({ ...RULES, peers: [] });
    assert.equal(filter.allows(tcpPacket(fromPlanner, syn(8080))), false);
  });

  Deno.test(`${family}: 20,000 connections, one of them open → the open one stays, the closed ones are forgotten`, () => {
    let time = 0;
    const idle = { remoteAddress: PLANNER[family], remotePort: 443, localPort: 50000 };
    const filter = new PacketFilter(MANY_PORTS, { connections: () => [idle], now: () => time });
    const begin = (fromPort: number, toPort: number) =>
      assert.ok(filter.sends(tcpPacket(toPlanner, { fromPort, toPort, flags: SYN })));
    const isKept = (remotePort: number, localPort: number) =>
      filter.allowsConnection({ ...idle, remotePort, localPort });
    begin(50000, 443);
    for (let toPort = 1000; toPort < 1002; toPort++) {
      for (let fromPort = 1; fromPort <= 10_000; fromPort++) {
        time += 500;
        begin(fromPort, toPort);
      }
    }
    filter.update(MANY_PORTS);
    assert.ok(filter.allowsConnection(idle));
    const answer = { fromPort: 443, toPort: 50000, flags: ACK | PSH };
    assert.equal(filter.allows(tcpPacket(fromPlanner, answer)), true);
    // The newest flow is kept, because the other side may not have closed its connection yet.
    assert.ok(isKept(1001, 10_000));
    let kept = 0;
    for (let toPort = 1000; toPort < 1002; toPort++) {
      for (let fromPort = 1; fromPort <= 10_000; fromPort++) {
        if (isKept(toPort, fromPort)) kept += 1;
      }
    }
    assert.ok(kept <= 8192, `${kept} are kept`);
  });

  Deno.test(`${family}: more open connections than flows are kept → all stay`, () => {
    const open = Array.from({ length: 16_384 }, (_, index) => ({
      remoteAddress: PLANNER[family],
      remotePort: 443,
      localPort: 49_152 + index,
    }));
    const filter = new PacketFilter(RULES, { connections: () => open });
    for (const { localPort } of open) {
      filter.sends(tcpPacket(toPlanner, { fromPort: localPort, toPort: 443, flags: SYN }));
    }
    assert.ok(open.every((connection) => filter.allowsConnection(connection)));
  });

  Deno.test(`${family}: a day of silence → an answer is let in if the connection is open, not if it has closed`, () => {
    let time = 0;
    const open = { remoteAddress: PLANNER[family], remotePort: 443, localPort: 50000 };
    const connections = [open];
    const filter = new PacketFilter(RULES, { connections: () => connections, now: () => time });
    filter.sends(tcpPacket(toPlanner, { fromPort: 50000, toPort: 443, flags: SYN }));
    const answer = tcpPacket(fromPlanner, { fromPort: 443, toPort: 50000, flags: ACK });
    time += 24 * 3600_000;
    assert.equal(filter.allows(answer), true);
    connections.pop();
    assert.equal(filter.allows(answer), true);
    time += 24 * 3600_000;
    assert.equal(filter.allows(answer), false);
  });

  Deno.test(`${family}: any single damaged byte, any truncation, a byte too many → no packet`, () => {
    const whole = tcpPacket(fromPlanner, { ...syn(8080), payload: 5 });
    assert.notEqual(parsePacket(whole), null);
    for (let length = 0; length < whole.length; length++) {
      assert.equal(parsePacket(whole.subarray(0, length)), null, `${length} bytes`);
    }
    const longer = new Uint8Array(whole.length + 1);
    longer.set(whole);
    assert.equal(parsePacket(longer), null);
    // No checksum covers the hop limit, the traffic class and the flow label of IPv6.
    const isFree = (at: number) => family === "ipv6" && (at === 7 || at < 4);
    for (let at = 0; at < whole.length; at++) {
      if (isFree(at)) continue;
      const damaged = whole.slice();
      damaged[at]! ^= 0x10;
      assert.equal(parsePacket(damaged), null, `byte ${at}`);
    }
  });

  for (const flags of [0, FIN, PSH, SYN | FIN, SYN | RST, FIN | PSH]) {
    Deno.test(`${family}: TCP flags ${flags}, which no sender has → no packet`, () => {
      assert.equal(parsePacket(tcpPacket(fromPlanner, { ...syn(8080), flags })), null);
    });
  }

  Deno.test(`${family}: other protocols, port 0, a short header → no packet`, () => {
    const others = [0, 2, 41, 43, 44, 50, 51, 60, family === "ipv4" ? 58 : 1];
    for (const protocol of others) {
      const content = new Uint8Array(40);
      assert.equal(parsePacket(ipPacket(fromPlanner, { protocol, content, checksumAt: 2 })), null);
    }
    assert.equal(parsePacket(tcpPacket(fromPlanner, { ...syn(0) })), null);
    assert.equal(parsePacket(tcpPacket(fromPlanner, { ...syn(80), fromPort: 0 })), null);
    for (const [at, value] of [[12, 0x40], [12, 0xf0]] as const) {
      const content = new Uint8Array(24);
      content.set([19, 136, 0, 80]);
      content[13] = SYN;
      content[at] = value;
      assert.equal(
        parsePacket(ipPacket(fromPlanner, { protocol: 6, content, checksumAt: 16 })),
        null,
      );
    }
    const short = { protocol: 6, content: new Uint8Array(19), checksumAt: 16 };
    assert.equal(parsePacket(ipPacket(fromPlanner, short)), null);
  });
}

Deno.test("ipv4: fragments and options, with right checksums → no packet", () => {
  const ends = { from: PLANNER.ipv4, to: ME.ipv4 };
  const whole = tcpPacket(ends, { fromPort: 1, toPort: 8080, flags: SYN });
  for (const bits of [0x2000, 0x0001, 0x1fff, 0x8000]) {
    const fragment = whole.slice();
    const view = new DataView(fragment.buffer);
    view.setUint16(6, bits);
    const before = view.getUint16(10) - bits;
    view.setUint16(10, before > 0 ? before : before + 0xffff);
    assert.equal(parsePacket(fragment), null, bits.toString(16));
  }
  const unfragmentable = whole.slice();
  const view = new DataView(unfragmentable.buffer);
  view.setUint16(6, 0x4000);
  const before = view.getUint16(10) - 0x4000;
  view.setUint16(10, before > 0 ? before : before + 0xffff);
  assert.notEqual(parsePacket(unfragmentable), null);
});

Deno.test("any bytes, and any mutation of a packet → a decision, never an error; never in from a stranger", () => {
  const filter = new PacketFilter(RULES);
  const seeds = (["ipv4", "ipv6"] as const).flatMap((family) => {
    const ends = { from: STRANGER[family], to: ME[family] };
    return [
      tcpPacket(ends, { fromPort: 5000, toPort: 8080, flags: SYN, payload: 30 }),
      icmpPacket(ends, family === "ipv4" ? 8 : 128),
    ];
  });
  const mutation = fc.record({
    seed: fc.constantFrom(...seeds),
    changes: fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 6 }),
    length: fc.option(fc.nat(90), { nil: null }),
  }).map(({ seed, changes, length }) => {
    const packet = seed.slice(0, length ?? seed.length);
    for (const [at, value] of changes) if (at < packet.length) packet[at] = value;
    return packet;
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 100 }), mutation), (packet) => {
      assert.equal(filter.allows(packet), false);
      assert.equal(typeof filter.sends(packet), "boolean");
    }),
    { numRuns: 20_000 },
  );
});

import assert from "node:assert/strict";
import { parsePacket } from "../../ip/filter/packet.ts";
import { MOST_HALF_OPEN, NeighbourShares } from "../../ip/shares/neighbour_shares.ts";
import { ACK, SYN, tcpPacket } from "../packet_filter/packets.ts";

const SERVER = "10.213.0.1";
const [GREEDY, OTHER] = ["10.213.0.2", "10.213.0.3"];

/** How many of these SYNs are admitted. */
function admittedOf(shares: NeighbourShares, from: string, ports: readonly number[]): number {
  const admits = (fromPort: number) =>
    shares.admits(
      parsePacket(tcpPacket({ from, to: SERVER }, { fromPort, toPort: 80, flags: SYN }))!,
    );
  return ports.filter(admits).length;
}

function portsFrom(first: number): number[] {
  return Array.from({ length: MOST_HALF_OPEN }, (_, index) => first + index);
}

for (const [what, flags] of [["the SYN again", SYN], ["a wrong ACK", ACK]] as const) {
  Deno.test(`connections that a neighbour keeps half open by ${what} → they count on, and others have places`, () => {
    let time = 0;
    const shares = new NeighbourShares({ now: () => time });
    const admitted = admittedOf(shares, GREEDY, portsFrom(1000));
    assert.ok(admitted < MOST_HALF_OPEN, `${admitted}`);
    for (; time < 60_000; time += 12_000) {
      assert.equal(admittedOf(shares, GREEDY, portsFrom(10_000)), 0);
      for (const fromPort of portsFrom(1000).slice(0, admitted)) {
        const ends = { from: GREEDY, to: SERVER };
        shares.admits(parsePacket(tcpPacket(ends, { fromPort, toPort: 80, flags }))!);
      }
    }
    assert.ok(admittedOf(shares, OTHER, portsFrom(1000)) > 0);
  });
}

Deno.test("SYNs to a port where nothing listens → all are admitted, and take no place; while it listens → they do", () => {
  let listening = false;
  const shares = new NeighbourShares({ now: () => 0, isListening: () => listening });
  assert.equal(admittedOf(shares, GREEDY, portsFrom(1000)), MOST_HALF_OPEN);
  listening = true;
  const admitted = admittedOf(shares, GREEDY, portsFrom(1000));
  assert.ok(admitted > 0 && admitted < MOST_HALF_OPEN, `${admitted}`);
  assert.equal(admittedOf(shares, GREEDY, portsFrom(10_000)), 0);
});

Deno.test("half-open connections that send nothing for long → their places are free again", () => {
  let time = 0;
  const shares = new NeighbourShares({ now: () => time });
  const admitted = admittedOf(shares, GREEDY, portsFrom(1000));
  time = 30_000;
  assert.equal(admittedOf(shares, GREEDY, portsFrom(10_000)), admitted);
});

import assert from "node:assert/strict";
import { parsePacket } from "../../ip/filter/packet.ts";
import { IpStack } from "../../ip/ip_stack.ts";
import { readLwip } from "../../ip/read_lwip.ts";
import { MOST_HALF_OPEN, NeighbourShares } from "../../ip/shares/neighbour_shares.ts";
import { ACK, RST, SYN, tcpPacket } from "../packet_filter/packets.ts";

const SERVER = "10.213.0.1";
const GREEDY = "10.213.0.2";

function portsFrom(first: number): number[] {
  return Array.from({ length: MOST_HALF_OPEN }, (_, index) => first + index);
}

Deno.test("half-open connections that are reset → their places are free at once, here and in lwIP; by a reset with a wrong number → they count on", async () => {
  const shares = new NeighbourShares({ now: () => 0 });
  let answers: Uint8Array[] = [];
  const stack = await IpStack.create({
    wasm: await readLwip(),
    addresses: [SERVER],
    watcher: shares,
    onOutput: (packets) => answers.push(...packets),
  });
  const ends = { from: GREEDY, to: SERVER };
  /** How many of these packets are admitted, and how many connections lwIP then begins. */
  const sent = async (flags: number, ports: readonly number[], sequence: number) => {
    answers = [];
    const packets = ports.map((fromPort) =>
      tcpPacket(ends, { fromPort, toPort: 80, flags, sequence })
    );
    const admitted = packets.filter((packet) => shares.admits(parsePacket(packet)!));
    for (const packet of admitted) stack.input(packet);
    await new Promise((resolve) => setTimeout(resolve, 0));
    const begun = answers.filter((answer) => (answer[33]! & (SYN | ACK | RST)) === (SYN | ACK));
    return [admitted.length, begun.length];
  };
  try {
    stack.listen(80, () => {});
    const [most] = await sent(SYN, portsFrom(1000), 7000);
    // More in all than a listener of lwIP can have half open.
    for (let round = 1; round <= 5; round++) {
      const open = portsFrom(1000 * round).slice(0, most);
      await sent(RST, open, 7002);
      assert.deepEqual(await sent(SYN, portsFrom(10_000), 7000), [0, 0]);
      await sent(RST, open, 7001);
      assert.deepEqual(await sent(SYN, portsFrom(1000 * (round + 1)), 7000), [most, most]);
    }
    assert.deepEqual(await sent(SYN, portsFrom(10_000), 7000), [0, 0]);
  } finally {
    stack.close();
  }
});

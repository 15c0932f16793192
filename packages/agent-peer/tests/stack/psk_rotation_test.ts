/** PSKs that change during a transfer. The clock runs faster than real time. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { systemSurroundings } from "../../wireguard/system_surroundings.ts";
import type { Surroundings } from "../../wireguard/tunnel.ts";
import { connectEnds, type End, setPeer } from "./soak/ends.ts";
import { readDigest } from "./transfer.ts";

const LWIP = new URL("../../ip/built/lwip.wasm", import.meta.url);

/** A new session starts every 2.4 s instead of every two minutes. */
const FASTER = 50;

function fastSurroundings(): Surroundings {
  const real = systemSurroundings();
  return {
    ...real,
    now: () => real.now() * FASTER,
    unixTime: () => Date.UTC(2030, 0, 1) + real.now() * FASTER,
    after: (milliseconds, action) => real.after(milliseconds / FASTER, action),
  };
}

/** Counts the packets that one end gives to its tunnel, and the packets that the other end gets. */
function countPackets(from: End, to: End): { sent: number; received: number } {
  const counts = { sent: 0, received: 0 };
  const { tunnel } = from;
  const [send, input] = [tunnel.sendPacket.bind(tunnel), to.stack.input.bind(to.stack)];
  tunnel.sendPacket = (packet) => {
    counts.sent += 1;
    return send(packet);
  };
  to.stack.input = (packet) => {
    counts.received += 1;
    input(packet);
  };
  return counts;
}

const pause = (milliseconds: number) => new Promise((go) => setTimeout(go, milliseconds));

const handshakeAt = ({ tunnel }: End) => tunnel.stats()[0]!.handshakeAt!;

Deno.test("a PSK that changes twice during a transfer, between sessions that replace each other → every packet and every byte arrives", async () => {
  const surroundings = fastSurroundings();
  const ends = await connectEnds(LWIP, { delayMs: 1, surroundings });
  const { left, right } = ends;
  const counts = [countPackets(left, right), countPackets(right, left)];
  const arrived = Promise.withResolvers<string>();
  right.stack.listen(80, (connection) => arrived.resolve(readDigest(connection)));
  const connection = await left.stack.connect({ address: right.address, port: 80 });
  const sent = createHash("sha256");
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const chunk = new Uint8Array(randomBytes(32_768));
      sent.update(chunk);
      await connection.write(chunk);
      await pause(5);
    }
    await connection.end();
  })();
  writing.catch(() => {});
  /** Resolves when a handshake that began after this call has ended. */
  async function untilNextSession(): Promise<void> {
    const begun = surroundings.now();
    const isNew = (end: End) => handshakeAt(end) > begun;
    while (!isNew(left) || !isNew(right)) {
      assert.ok(surroundings.now() - begun < 600_000, "No session has begun.");
      await pause(10);
    }
  }
  try {
    await untilNextSession();
    for (let rotation = 0; rotation < 2; rotation++) {
      const presharedKey = randomBytes(32).toString("base64");
      setPeer(left, { other: right, presharedKey });
      // Two hosts may learn of a new PSK up to ten seconds apart.
      await pause(10_000 / FASTER);
      setPeer(right, { other: left, presharedKey });
      await untilNextSession();
    }
    isOver = true;
    await writing;
    assert.equal(await arrived.promise, sent.digest("hex"));
    // The last acknowledgements may still be in flight.
    const isMissing = () => counts.some(({ sent, received }) => received !== sent);
    for (let tries = 0; isMissing() && tries < 100; tries++) await pause(50);
    for (const { sent, received } of counts) assert.equal(received, sent);
  } finally {
    ends.close();
  }
});

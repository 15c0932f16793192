import assert from "node:assert/strict";
import { Ranks } from "../../paths/peers/ranks.ts";
import { reportOf } from "../../paths/peers/reports.ts";
import { newKey, pairOf, World } from "./simulation.ts";
import { isLater, Timestamps } from "../../wireguard/handshake/timestamp.ts";
import { sleepProofClock, systemSurroundings } from "../../wireguard/system_surroundings.ts";

Deno.test("sleepProofClock() → goes with the faster clock, and never back", () => {
  let [steady, wall] = [1000, 5_000_000];
  const now = sleepProofClock({ steady: () => steady, wall: () => wall });
  assert.equal(now(), 0);
  [steady, wall] = [1500, 5_000_500];
  assert.equal(now(), 500);
  // The host slept for three hours, during which the steady clock stood still.
  [steady, wall] = [1501, 5_000_500 + 3 * 3_600_000];
  assert.equal(now(), 500 + 3 * 3_600_000);
  // Somebody sets the wall clock back by a day.
  [steady, wall] = [1601, 5_000_500 - 86_400_000];
  assert.equal(now(), 600 + 3 * 3_600_000 - 0);
  assert.equal(now(), 600 + 3 * 3_600_000);
});

Deno.test("Timestamps.next() → TAI64N, and later than the last one though the clock goes back", () => {
  const timestamps = new Timestamps();
  const first = timestamps.next(1_000_000_000_000);
  assert.equal(Buffer.from(first).toString("hex"), "400000003b9aca0a00000000");
  const second = timestamps.next(0);
  assert.equal(Buffer.from(second).toString("hex"), "400000003b9aca0a00f42400");
  assert.deepEqual(
    [isLater(second, first), isLater(first, second), isLater(first, first)],
    [true, false, false],
  );
});

Deno.test("systemSurroundings().after() → runs the action, unless it is called off", async () => {
  const { after, randomBytes } = systemSurroundings();
  const ran: string[] = [];
  const cancel = after(0, () => ran.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => after(1, resolve));
  assert.deepEqual(ran, []);
  assert.equal(randomBytes(32).length, 32);
});

const [SECOND, HOUR] = [1000, 3_600_000];

/** Two hosts in a session, with keepalives. */
function connected() {
  const world = new World();
  const presharedKey = newKey();
  const { left, right } = pairOf(world, presharedKey);
  left.tunnel.setPeers([right.asPeer({ presharedKey, persistentKeepaliveSeconds: 25 })]);
  world.advance(10 * SECOND);
  const report = () =>
    reportOf(left.tunnel.stats()[0]!, { surroundings: world.surroundings, ranks: new Ranks() });
  assert.equal(report().via, "direct");
  return { world, report };
}

Deno.test("the clock is set back, and the peer dies → none when its session is over, and the true age", () => {
  const { world, report } = connected();
  world.setClock(-HOUR);
  world.passes = () => false;
  const { handshakeAgeSeconds: before } = report();
  world.advance(60 * SECOND);
  assert.deepEqual([report().via, report().handshakeAgeSeconds], ["direct", before! + 60]);
  world.advance(120 * SECOND);
  assert.deepEqual([report().via, report().handshakeAgeSeconds], ["none", before! + 180]);
});

Deno.test("the clock is set forward by an hour → the peer is up again one handshake later, at once", () => {
  const { world, report } = connected();
  world.setClock(HOUR);
  world.advance(SECOND);
  assert.equal(report().via, "direct");
  assert.ok(report().handshakeAgeSeconds! <= 1);
});

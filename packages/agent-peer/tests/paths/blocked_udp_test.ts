import assert from "node:assert/strict";
import { BlockedUdp } from "../../paths/peers/blocked_udp.ts";

const PLACE = { address: "198.51.100.7", port: 51820 };
const NEIGHBOUR = { address: "192.168.77.9", port: 51820 };

/** `sentIn` tries to send one datagram a second, and counts those that are allowed. */
function scene() {
  const state = { isBlocked: true, hasRelay: true, now: 0 };
  const udp = new BlockedUdp({
    isBlocked: () => state.isBlocked,
    hasRelay: () => state.hasRelay,
    now: () => state.now,
  });
  const sentIn = (seconds: number, place = PLACE) => {
    let sent = 0;
    for (let second = 0; second < seconds; second++) {
      if (udp.maySend(place)) sent += 1;
      state.now += 1000;
    }
    return sent;
  };
  return { state, udp, sentIn };
}

Deno.test("UDP is blocked → each place is tried for 15 s, and then not any more", () => {
  const { sentIn } = scene();
  assert.equal(sentIn(3600), 15);
  assert.equal(sentIn(3600, { ...PLACE, port: 1 }), 15);
  assert.equal(sentIn(3600), 0);
});

Deno.test("UDP is blocked and there is no relay → a silent place is tried for 6 s every two minutes", () => {
  const { state, sentIn } = scene();
  state.hasRelay = false;
  assert.equal(sentIn(15), 15);
  assert.equal(sentIn(120), 0);
  assert.equal(sentIn(6), 6);
  assert.equal(sentIn(120), 0);
  assert.equal(sentIn(6), 6);
  state.hasRelay = true;
  assert.equal(sentIn(3600), 0);
});

Deno.test("UDP is blocked, and a peer's place is left and comes back → it is tried as at first", () => {
  const { udp, sentIn } = scene();
  udp.setCandidates([PLACE, NEIGHBOUR]);
  assert.equal(sentIn(60), 15);
  udp.setCandidates([PLACE]);
  assert.equal(sentIn(60), 0);
  udp.setCandidates([NEIGHBOUR]);
  udp.setCandidates([NEIGHBOUR, PLACE]);
  assert.equal(sentIn(60), 15);
});

Deno.test("another network, or one that does not block UDP → everything is tried", () => {
  const { state, sentIn } = scene();
  sentIn(3600);
  state.isBlocked = false;
  assert.equal(sentIn(60), 60);
  state.isBlocked = true;
  assert.equal(sentIn(60), 15);
});

Deno.test("UDP is blocked on the way out → a neighbour that answers is sent to, as long as it does", () => {
  const { udp, sentIn } = scene();
  assert.equal(sentIn(1, NEIGHBOUR), 1);
  for (let minute = 0; minute < 10; minute++) {
    udp.heard(NEIGHBOUR);
    assert.equal(sentIn(60, NEIGHBOUR), 60);
  }
  udp.heard(NEIGHBOUR);
  assert.equal(sentIn(3600, NEIGHBOUR), 180);
  udp.heard(NEIGHBOUR);
  assert.equal(sentIn(60, NEIGHBOUR), 60);
});

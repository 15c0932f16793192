import assert from "node:assert/strict";
import { Channels } from "../../paths/turn/channels.ts";

const PEER = { address: "198.51.100.7", port: 51820 };
const MINUTE = 60_000;

/** Channels of a relay that keeps them as RFC 8656, section 12 says. The test moves the clock. */
function channelsOfRelay() {
  const state = { now: 0, answers: true };
  const bound = new Map<number, { readonly peer: string; readonly until: number }>();
  const requests: string[] = [];
  const channels = new Channels({
    now: () => state.now,
    bind(number, { address, port }) {
      const peer = `${address}:${port}`;
      const isTaken = [...bound].some(([other, one]) =>
        one.until > state.now && (other === number) !== (one.peer === peer)
      );
      requests.push(`0x${number.toString(16)} ${isTaken ? 400 : "bound"}`);
      if (isTaken) return Promise.resolve(false);
      bound.set(number, { peer, until: state.now + 10 * MINUTE });
      return Promise.resolve(state.answers ? true : null);
    },
  });
  return {
    state,
    channels,
    requests,
    /** Sends this many datagrams, with or without a channel. */
    async send(datagrams: number, peer = PEER) {
      for (let sent = 0; sent < datagrams; sent++) {
        if (channels.numberOf(peer) === null) channels.count(peer);
        await Promise.resolve();
      }
    },
    /** Lets minutes pass, and renews every 4 minutes. */
    pass(minutes: number, wanted = true) {
      for (let minute = 0; minute < minutes; minute++) {
        state.now += MINUTE;
        if (state.now % (4 * MINUTE) === 0) channels.renew(() => wanted);
      }
    },
  };
}

Deno.test("a channel that was idle for 9 minutes → its data is still known, and it is used again", async () => {
  const { channels, requests, send, pass } = channelsOfRelay();
  await send(4);
  assert.equal(channels.numberOf(PEER), 0x4000);
  pass(9);
  assert.deepEqual(channels.peerOf(0x4000), PEER);
  assert.equal(channels.numberOf(PEER), 0x4000);
  assert.deepEqual(requests, ["0x4000 bound", "0x4000 bound"]);
});

Deno.test("a rule that is given again after 9 minutes → its peer's data arrives, by the same number", async () => {
  const { channels, requests, send, pass } = channelsOfRelay();
  await send(4);
  pass(9, false);
  assert.deepEqual(channels.peerOf(0x4000), PEER);
  pass(6, false);
  assert.equal(channels.numberOf(PEER), null);
  await send(20);
  assert.equal(channels.numberOf(PEER), 0x4000);
  assert.deepEqual(requests, ["0x4000 bound", "0x4000 bound"]);
});

Deno.test("a channel that ended 5 minutes ago → its number means nobody", async () => {
  const { channels, send, pass } = channelsOfRelay();
  await send(4);
  pass(14, false);
  assert.deepEqual(channels.peerOf(0x4000), PEER);
  pass(2, false);
  assert.equal(channels.peerOf(0x4000), null);
});

Deno.test("a relay whose answer is lost → nothing is sent by the channel; what arrives by it is known", async () => {
  const { channels, state, requests, send } = channelsOfRelay();
  state.answers = false;
  await send(40);
  assert.equal(channels.numberOf(PEER), null);
  assert.deepEqual(channels.peerOf(0x4000), PEER);
  assert.deepEqual(requests, ["0x4000 bound"]);
  state.now += 31_000;
  state.answers = true;
  await send(40);
  assert.equal(channels.numberOf(PEER), 0x4000);
  assert.deepEqual(requests, ["0x4000 bound", "0x4000 bound"]);
});

Deno.test("all 4096 numbers → another peer has to do without; after 15 minutes it gets one", async () => {
  const { channels, requests, send, pass } = channelsOfRelay();
  for (let port = 1; port <= 4096; port++) await send(4, { ...PEER, port });
  assert.equal(requests.length, 4096);
  const another = { ...PEER, port: 5000 };
  await send(8, another);
  assert.equal(channels.numberOf(another), null);
  assert.equal(requests.length, 4096);
  pass(15, false);
  await send(4, another);
  assert.equal(channels.numberOf(another), 0x4000);
  assert.equal(requests.filter((request) => request.endsWith("400")).length, 0);
});

import assert from "node:assert/strict";
import { PathWatch } from "../../forwarding/path_watch.ts";

const PEER = { publicKey: "a=", endpoint: null, lastHandshakeAt: null, receivedBytes: 0 };
const NOON = 1_767_268_800_000;

/** Looks every two seconds, as the command does. `ahead`: milliseconds the wall clock is ahead. */
function watching() {
  const watch = new PathWatch();
  let now = 0;
  const look = (peer: object, ahead = 0) =>
    watch.update([{ ...PEER, ...peer }], { now, unixTime: NOON + now + ahead, forwarded: [] });
  return {
    watch,
    look,
    works: () => watch.works("a="),
    isBroken: () => watch.isBroken("a=", now),
    sleep: (milliseconds: number) => now += milliseconds,
    lookFor(milliseconds: number, peer: object, ahead = 0) {
      for (const end = now + milliseconds; now < end; now += 2000) look(peer, ahead);
    },
  };
}

Deno.test("a peer without a handshake, with one, and without traffic → broken, works, broken", () => {
  const { look, lookFor, works, isBroken } = watching();
  look({});
  assert.deepEqual([works(), isBroken()], [false, false]);
  lookFor(2000, {});
  assert.equal(isBroken(), false);
  lookFor(2000, {});
  assert.equal(isBroken(), true);
  const heard = { lastHandshakeAt: NOON + 4000, receivedBytes: 92 };
  look(heard);
  assert.deepEqual([works(), isBroken()], [true, false]);
  // By the end, two keepalives are missing.
  lookFor(54_000, heard);
  assert.equal(works(), true);
  lookFor(10_000, heard);
  assert.deepEqual([works(), isBroken()], [false, true]);
});

Deno.test("a peer that leaves and comes back → like a new peer", () => {
  const { watch, lookFor, isBroken } = watching();
  lookFor(20_000, {});
  watch.update([], { now: 20_000, unixTime: NOON, forwarded: [] });
  assert.equal(isBroken(), false);
});

Deno.test("a handshake from before the first look → as old as the wall clock says", () => {
  for (const [age, isWorking] of [[170_000, true], [190_000, false], [-3_600_000, true]] as const) {
    const { look, works } = watching();
    look({ lastHandshakeAt: NOON - age, receivedBytes: 92 });
    assert.equal(works(), isWorking, String(age));
  }
});

Deno.test("the wall clock is set while a peer works, or is silent → it makes no difference", () => {
  for (const ahead of [-3_600_000, 3_600_000]) {
    const { watch, look, lookFor, works, isBroken } = watching();
    assert.equal(watch.handshakeAt("a="), null);
    look({ lastHandshakeAt: NOON, receivedBytes: 92 });
    for (let bytes = 100; bytes < 160; bytes++) {
      lookFor(2000, { lastHandshakeAt: NOON, receivedBytes: bytes }, ahead);
    }
    assert.deepEqual([works(), watch.handshakeAt("a=")], [true, 0]);
    lookFor(90_000, { lastHandshakeAt: NOON, receivedBytes: 160 }, ahead);
    assert.deepEqual([works(), isBroken()], [false, true]);
  }
});

Deno.test("a machine that has slept → silent peers get longer until they count as broken", () => {
  const { look, lookFor, sleep, works, isBroken } = watching();
  const heard = { lastHandshakeAt: NOON, receivedBytes: 92 };
  look(heard);
  sleep(3_600_000);
  look(heard);
  assert.equal(works(), false);
  lookFor(18_000, heard);
  assert.equal(isBroken(), false);
  lookFor(4000, heard);
  assert.equal(isBroken(), true);
});

/** Looks at peers, one letter each (a capital: the peer works). Returns those that are broken. */
function looking() {
  const watch = new PathWatch();
  let now = 0;
  return (keys: string, forwarded = ""): string => {
    now += 2000;
    const peers = [...keys].map((key) => {
      const works = key !== key.toLowerCase();
      const lastHandshakeAt = works ? NOON + now : null;
      const receivedBytes = works ? now : 0;
      return { ...PEER, publicKey: key.toLowerCase(), lastHandshakeAt, receivedBytes };
    });
    watch.update(peers, { now, unixTime: NOON + now, forwarded: [...forwarded] });
    return peers.map(({ publicKey }) => publicKey).filter((key) => watch.isBroken(key, now)).join(
      "",
    );
  };
}

Deno.test("the tunnel restarts → the peer that was forwarded soon counts as broken, the others later", () => {
  const look = looking();
  look("AB", "a");
  look("", "a");
  assert.equal(look("ab"), "");
  assert.equal(look("ab"), "a");
  assert.equal(look("ab"), "ab");
});

Deno.test("a forwarded peer has another key → the peer in its place soon counts as broken, until its tunnel works", () => {
  const look = looking();
  look("AB", "a");
  look("B", "a");
  assert.deepEqual([look("Bc"), look("Bc")], ["", "c"]);
  // Only one peer has vanished, so only the first new one replaces it.
  assert.deepEqual([look("Bcd"), look("Bcd")], ["c", "c"]);
  look("BC");
  assert.deepEqual([look("Bc"), look("Bc")], ["", ""]);
});

Deno.test("more peers are new than have vanished, or one is new later → each gets its time; two for two → neither", () => {
  const look = looking();
  look("AB", "ab");
  look("B", "ab");
  assert.deepEqual([look("Bcd"), look("Bcd")], ["", ""]);
  const later = looking();
  later("AB", "a");
  for (let looks = 0; looks < 5; looks++) later("B", "a");
  assert.deepEqual([later("Bc"), later("Bc")], ["", ""]);
  const both = looking();
  both("AB", "ab");
  both("c", "ab");
  assert.deepEqual([both("cd"), both("cd")], ["c", "cd"]);
});

Deno.test("a restart after which one of two is missing, and a peer that was reached without → that one gets its time", () => {
  const look = looking();
  look("ABC", "ab");
  look("", "ab");
  look("ac");
  assert.equal(look("ac"), "a");
});

Deno.test("a machine that sleeps while a peer is expected → as long as any other", () => {
  const { watch, look, sleep, isBroken } = watching();
  look({ lastHandshakeAt: NOON, receivedBytes: 92 });
  watch.update([], { now: 0, unixTime: NOON, forwarded: ["a="] });
  look({});
  sleep(3_600_000);
  look({});
  for (let seconds = 0; seconds < 18; seconds += 2) {
    sleep(2000);
    look({});
    assert.equal(isBroken(), false, `${seconds} s`);
  }
  sleep(4000);
  assert.equal(isBroken(), true);
});

Deno.test("a peer that was not forwarded vanishes, or one that was for over a minute → the new peer gets its time", () => {
  const look = looking();
  look("AB", "a");
  look("A", "a");
  assert.deepEqual([look("Ac", "a"), look("Ac", "a")], ["", ""]);
  look("", "a");
  for (let looks = 0; looks < 31; looks++) look("");
  assert.deepEqual([look("d"), look("d")], ["", ""]);
});

import assert from "node:assert/strict";
import { Returns } from "../../forwarding/returns.ts";

const [PORT, PLACE] = ["127.0.0.1:4000", "192.0.2.1:51820"];

/** The step at each look, every two seconds. The peer is open from the first look on. */
function stepsOf(looks: readonly [endpoint: string, receivedBytes: number][]): string[] {
  const returns = new Returns();
  return looks.map(([endpoint, receivedBytes], index) => {
    const peer = { publicKey: "a=", lastHandshakeAt: 0, endpoint, receivedBytes };
    return returns.next(peer, { place: PLACE, now: 2000 * index }).is;
  });
}

Deno.test("a peer that is not open → nothing", () => {
  const peer = { publicKey: "a=", lastHandshakeAt: 0, endpoint: PORT, receivedBytes: 9 };
  assert.deepEqual(new Returns().next(peer, { place: null, now: 0 }), { is: "nothing" });
});

Deno.test("an open peer is heard after it was seen at its own endpoint → returned; what came before does not count", () => {
  const looks = [[PORT, 9], [PLACE, 100], [PLACE, 100], [PLACE, 132]] as [string, number][];
  assert.deepEqual(stepsOf(looks), ["set", "wait", "wait", "returned"]);
});

Deno.test("packets that were under way move the kernel back → set again; repeatedly → failed", () => {
  const back = [[PORT, 9], [PORT, 100], [PLACE, 100], [PLACE, 200]] as [string, number][];
  assert.deepEqual(stepsOf(back), ["set", "set", "wait", "returned"]);
  const always = Array.from({ length: 6 }, (_, index): [string, number] => [PORT, index]);
  assert.deepEqual(stepsOf(always), ["set", "set", "set", "set", "set", "failed"]);
});

Deno.test("the kernel hears the peer at a third place, or is given one → left there, whether or not a return is in progress", () => {
  const elsewhere = "198.51.100.9:51820";
  assert.deepEqual(stepsOf([[elsewhere, 9]]), ["nothing"]);
  const looks = [[PORT, 9], [PLACE, 9], [elsewhere, 9], [PORT, 9]] as [string, number][];
  assert.deepEqual(stepsOf(looks), ["set", "wait", "nothing", "set"]);
});

Deno.test("nothing comes for 15 s → failed", () => {
  const silent = Array.from({ length: 9 }, (): [string, number] => [PLACE, 9]);
  assert.deepEqual(stepsOf([[PORT, 9], ...silent]).slice(0, 9), [
    "set",
    ...Array.from({ length: 7 }, () => "wait"),
    "failed",
  ]);
});

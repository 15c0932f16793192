import assert from "node:assert/strict";
import { type PathNews, PathTeller } from "../../../clients/typescript/src/forwarding/path_news.ts";
import type { ForwardedPeer } from "../../../clients/typescript/src/forwarding/path_file.ts";

const KEY = "a=";

/** The news about one peer until second `until`; `foundAt`: when a direct way is found. */
async function newsOf(
  { hasRelay, isTried = true, foundAt = Infinity, until }: {
    readonly hasRelay: boolean;
    readonly isTried?: boolean;
    readonly foundAt?: number;
    readonly until: number;
  },
): Promise<string[]> {
  const told: string[] = [];
  let second = 0;
  const teller = new PathTeller(({ via, reason }: PathNews) => {
    told.push(`${second} s: ${reason === null ? via : `${via}, ${reason}`}`);
    return Promise.resolve();
  });
  for (; second <= until; second += 2) {
    const report: ForwardedPeer = {
      publicKey: KEY,
      endpoint: "127.0.0.1:4000",
      via: second >= foundAt ? "direct" : "none",
      outer: "192.0.2.1:1000",
      before: null,
    };
    await teller.tell({
      publicKey: KEY,
      name: "builder",
      report: isTried ? report : undefined,
      hasRelay,
      now: second * 1000,
    });
  }
  return told;
}

Deno.test("no relay, and no way → said after 6 s, once", async () => {
  assert.deepEqual(await newsOf({ hasRelay: false, until: 60 }), [
    "6 s: none, no answer from any of its endpoints, and this host has no relay",
  ]);
  assert.deepEqual(await newsOf({ hasRelay: false, isTried: false, until: 60 }), [
    "6 s: none, it has registered no endpoint, so both may be behind NAT, and this host has no relay",
  ]);
});

Deno.test("a relay, and no way → said after 20 s", async () => {
  assert.deepEqual(await newsOf({ hasRelay: true, until: 60 }), [
    "20 s: none, no answer from any of its endpoints",
  ]);
});

Deno.test("hole punching succeeds within 5 s → no report that no path works", async () => {
  assert.deepEqual(await newsOf({ hasRelay: false, foundAt: 5, until: 60 }), ["6 s: direct"]);
});

import assert from "node:assert/strict";
import type { ForwardedPeer } from "../../forwarding/agent/path_file.ts";
import { type PathNews, PathTeller } from "../../forwarding/path_news.ts";
import { PathWatch } from "../../forwarding/path_watch.ts";

const KEY = "a=";

/**
 * The news about one peer until second `until`. Its tunnel works from second `foundAt` on, when a
 * path is found.
 */
async function newsOf(
  { hasRelay, hasEndpoint = true, foundAt = Infinity, until }: {
    readonly hasRelay: boolean;
    readonly hasEndpoint?: boolean;
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
  const watch = new PathWatch();
  for (; second <= until; second++) {
    const isFound = second >= foundAt;
    const now = second * 1000;
    const lastHandshakeAt = isFound ? now : null;
    const peer = { publicKey: KEY, endpoint: null, lastHandshakeAt, receivedBytes: 0 };
    watch.update([peer], { now, unixTime: now, forwarded: [] });
    const report: Pick<ForwardedPeer, "via" | "outer"> = {
      via: isFound ? "direct" : "none",
      outer: "192.0.2.1:1000",
    };
    await teller.tell({
      publicKey: KEY,
      name: "builder",
      report,
      hasRelay,
      isTried: hasEndpoint,
      isSought: watch.sought({ now, hasRelay }).includes(KEY),
    });
  }
  return told;
}

Deno.test("no relay, and no way → said after 10 s, once", async () => {
  assert.deepEqual(await newsOf({ hasRelay: false, until: 60 }), [
    "10 s: none, no answer from any of its endpoints, and this host has no relay",
  ]);
  assert.deepEqual(await newsOf({ hasRelay: false, hasEndpoint: false, until: 60 }), [
    "10 s: none, it has registered no endpoint, so both may be behind NAT, and this host has no relay",
  ]);
});

Deno.test("a relay, and no way → said after 20 s", async () => {
  assert.deepEqual(await newsOf({ hasRelay: true, until: 60 }), [
    "20 s: none, no answer from any of its endpoints",
  ]);
});

Deno.test("hole punching succeeds within 9 s → no report that no path works", async () => {
  assert.deepEqual(await newsOf({ hasRelay: false, foundAt: 9, until: 60 }), ["9 s: direct"]);
});

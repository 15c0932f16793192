import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { idleTimeout } from "../http/idle_timeout.ts";
import { agentFiles, bytesIn, bytesOf } from "./cast.ts";

/** The number of timers that `run` sets and neither clears nor lets fire. */
async function timersLeftBy(run: () => void | Promise<void>): Promise<number> {
  const { setTimeout, clearTimeout } = globalThis;
  const live = new Set<unknown>();
  globalThis.setTimeout = ((handler: () => void, milliseconds?: number) => {
    const timer = setTimeout(() => {
      live.delete(timer);
      handler();
    }, milliseconds);
    live.add(timer);
    return timer;
  }) as typeof setTimeout;
  globalThis.clearTimeout = (timer) => {
    live.delete(timer);
    clearTimeout(timer);
  };
  try {
    await run();
    return live.size;
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    for (const timer of live) clearTimeout(timer as number);
  }
}

Deno.test("idleTimeout() that is touched after its end → no timer is set again", async () => {
  const left = await timersLeftBy(() => {
    const timeout = idleTimeout(300, undefined);
    timeout.touch();
    timeout.end();
    timeout.touch();
    assert.equal(timeout.signal.aborted, false);
  });
  assert.equal(left, 0);
});

Deno.test("idleTimeout() that has run out → aborted, and touched again it sets no timer", async () => {
  const left = await timersLeftBy(async () => {
    const { signal, touch } = idleTimeout(0.001, undefined);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    touch();
  });
  assert.equal(left, 0);
});

Deno.test("put() whose first PUT is cut off while its body is still read → committed, and no timer is left", async () => {
  const content = bytesOf(4_000_000);
  const path = await Deno.makeTempFile();
  await writeFile(path, content);
  let isCut = false;
  const { files } = await agentFiles("planner", {
    fetch: (input, init) => {
      if (init?.method !== "PUT" || isCut) return fetch(input, init);
      isCut = true;
      // As in Deno, the body is still read after the request has failed.
      return new Promise((_, reject) => {
        const breaking = { write: () => reject(new TypeError("connection closed")) };
        (init.body as ReadableStream).pipeTo(new WritableStream(breaking)).catch(() => {});
      });
    },
  });
  const left = await timersLeftBy(async () => {
    await files.put("plan", { path });
  });
  await rm(path);
  assert.equal(left, 0);
  assert.equal(isCut, true);
  assert.deepEqual(await bytesIn((await files.get("plan")).body), content);
});

import assert from "node:assert/strict";
import type { Connection } from "../../../clients/typescript/src/http/connection.ts";
import { Follower } from "../../../clients/typescript/src/mesh/service/follower.ts";

/** A service by which nothing happens, and which answers waits at once. */
function impatientService() {
  let waits = 0;
  const post = (path: string) => {
    if (path === "/events") return Promise.resolve({ events: [], latest: "1", more: false });
    if (path === "/wg_config") return Promise.resolve({ config_version: 1 });
    waits++;
    return Promise.resolve({ config_version: 1, events: { changed: false, latest: "1" } });
  };
  const connection = {
    post,
    waitLength: { seconds: 140, isTooLong: () => false },
    signalOf: ({ signal }: { signal?: AbortSignal }) => signal,
  };
  return { connection: connection as unknown as Connection, waits: () => waits };
}

Deno.test("askAgain() between two waits → another wait, and the following goes on", async () => {
  const { connection, waits } = impatientService();
  const over = new AbortController();
  const follower = new Follower(connection, {
    apply: () => Promise.resolve(),
    paths: () => [],
    register: () => Promise.resolve(),
    onEvents: () => Promise.resolve(),
  }, over.signal);
  await follower.start();
  const ended = follower.run().then(() => null, (error) => error);
  const soon = (milliseconds: number) =>
    Promise.race([ended, new Promise((resolve) => setTimeout(resolve, milliseconds, "running"))]);
  for (let asked = 1; asked <= 3; asked++) {
    assert.equal(await soon(50), "running");
    // It rests for more than a second otherwise.
    assert.equal(waits(), asked);
    follower.askAgain();
  }
  over.abort(new Error("Over."));
  assert.equal((await ended).message, "Over.");
});
